/** How long containers take: from a cold start, kept ready, and for one run; `bench/containers.mjs` has more of all runtimes. `node bench/code-interpreter.mjs [--rounds 5] [--isolation process-only]`, over the build. */
import { parseArgs } from 'node:util';
import { pyodideRuntime } from '../dist/esm/tools/code-interpreter/index.js';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, isolation: { type: 'string' } } });
const { isolation } = values;
const ROUNDS = Number(values.rounds);
const RUNS = 200;
const NEVER = new AbortController().signal;

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** From the call to the first answer, in a container that was not kept ready. */
async function cold() {
  const runtime = pyodideRuntime({ warm: 0, isolation });
  const time = await timed(async () => (await runtime.create(NEVER)).run('1 + 1', NEVER));
  await runtime.close();
  return time;
}

/** One run in a container that exists. */
async function warm() {
  const runtime = pyodideRuntime({ warm: 1, maxContainers: 1, isolation });
  const ready = await runtime.create(NEVER);
  const runs = [];
  for (let run = 0; run < RUNS; run += 1) runs.push(await timed(() => ready.run('1 + 1', NEVER)));
  await runtime.close();
  return median(runs);
}

const times = [];
for (let round = 0; round < ROUNDS; round += 1) times.push(await cold());
console.log('| what | median | range |');
console.log('| --- | --- | --- |');
console.log(
  `| first answer, cold | ${median(times).toFixed(0)} ms | ${Math.min(...times).toFixed(0)}–${Math.max(...times).toFixed(0)} |`,
);
console.log(`| \`1 + 1\` | ${(await warm()).toFixed(1)} ms | of ${RUNS} runs |`);
