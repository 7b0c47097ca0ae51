/** A host of containers in a process of its own, which can be measured and killed; run by `host.test.ts`, over the build. */
import { closeSync, openSync } from 'node:fs';
import { containers, pyodideRuntime } from '../../../dist/esm/tools/code-interpreter/index.js';

const NEVER = new AbortController().signal;
const [, , isolation] = process.argv;
const runtime = pyodideRuntime({ warm: 0, isolation });
const kept = containers({ runtime });
const run = (id, code) => kept.run({ scope: 's', id }, code, [], NEVER);

function heap() {
  for (let round = 0; round < 3; round += 1) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What the test may ask for. */
const tasks = {
  async runs(count) {
    const answers = new Set();
    for (let round = 0; round < count; round += 1) answers.add((await run('a', '1 + 1')).result);
    return { heap: heap(), answers: [...answers] };
  },
  async crowded() {
    await run('a', '1 + 1');
    const open = [];
    try {
      for (;;) open.push(openSync('/dev/null'));
    } catch {}
    const refused = await run('b', '1 + 1').catch(({ message }) => message);
    for (const descriptor of open) closeSync(descriptor);
    return { refused, answer: (await run('b', '1 + 1')).result };
  },
  async idle() {
    await run('a', '1 + 1');
    return {};
  },
  async endless() {
    await run('a', '1');
    void run('a', 'while True: pass');
    return {};
  },
  async close() {
    await run('a', '1 + 1');
    process.disconnect();
    await kept.close();
    await runtime.close();
    process.exitCode = 7;
  },
  async leave() {
    await run('a', '1 + 1');
    process.disconnect();
    return {};
  },
};

process.on('message', async ([task, argument]) => {
  const answer = await tasks[task](argument);
  if (process.connected) process.send(answer);
});
