/** How long containers take: from a cold start, kept ready, for one run, and what 50 idle ones cost. `node bench/code-interpreter.mjs [--rounds 5] [--isolation process-only]`, over the build. */
import { parseArgs } from 'node:util';
import { containers, pyodideRuntime } from '../dist/esm/tools/code-interpreter/index.js';

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

const IDLE = 50;

/** The time and the memory of containers that clients have made and in which nothing has run, each with a file; then of the first run in one. */
async function idle() {
  const runtime = pyodideRuntime({ warm: 0, isolation });
  const kept = containers({ runtime });
  const before = process.memoryUsage().rss;
  const data = Buffer.alloc(64 * 1024, 'x');
  let last;
  const making = await timed(async () => {
    for (let at = 0; at < IDLE; at += 1) {
      last = await kept.create('bench', { name: `idle ${at}` });
      async function* content() {
        yield data;
      }
      await kept.putFile(last, { name: 'data.txt', source: 'user', content: content() });
    }
  });
  const mib = (process.memoryUsage().rss - before) / 2 ** 20;
  const { running } = await kept.usage('bench');
  const first = await timed(() => kept.run(last, "len(open('data.txt').read())", [], NEVER));
  await kept.close();
  await runtime.close();
  return { making, mib, running, first };
}

const times = [];
for (let round = 0; round < ROUNDS; round += 1) times.push(await cold());
console.log('| what | median | range |');
console.log('| --- | --- | --- |');
console.log(
  `| first answer, cold | ${median(times).toFixed(0)} ms | ${Math.min(...times).toFixed(0)}–${Math.max(...times).toFixed(0)} |`,
);
console.log(`| \`1 + 1\` | ${(await warm()).toFixed(1)} ms | of ${RUNS} runs |`);
const { making, mib, running, first } = await idle();
console.log(
  `| ${IDLE} idle containers with a file of 64 KiB each | ${making.toFixed(0)} ms | ${mib.toFixed(1)} MiB, ${running} processes |`,
);
console.log(`| first run in one of them | ${first.toFixed(0)} ms | |`);
