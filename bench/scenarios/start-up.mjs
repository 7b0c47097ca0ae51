/** A fresh process: what importing the package costs, and how long it takes until its first answer. */
import { bodyOf } from '../answers.mjs';
import { add } from './rounds.mjs';

const NAMES = ['pass-through in Express', 'ours in Express'];
/** The row of the cost of importing. */
export const IMPORTS = 'import over an empty Express app';
// Each takes a few tenths of a second; a busy machine lengthens single ones.
const TRIES = 7;

/** Milliseconds from the start of the process to the end of its first answer. */
async function firstAnswer(bench, name) {
  const began = performance.now();
  const server = await bench.start(name);
  const { failed } = await bench.load(server, 'ask', {
    connections: 1,
    turns: 1,
    bodies: [bodyOf(server.api, 'short:8')],
  });
  const answer = performance.now() - began;
  const { cpu } = await server.usage();
  await server.stop();
  return { answer, cpu: cpu / 1000, failed };
}

async function imported(bench) {
  const { child, cpu, mb } = await bench.startHelper('servers/import.mjs');
  child.kill();
  return { cpu, mb };
}

export const startUp = {
  about: 'a fresh process: from its start to the end of its first answer, and importing the package',
  async run(bench) {
    const rows = [...NAMES, IMPORTS].map((name) => ({ name, values: {} }));
    const measure = (name) => (name === IMPORTS ? imported(bench) : firstAnswer(bench, name));
    for (let count = 0; count < bench.scaled(TRIES); count += 1) {
      for (const { name, values } of rows) add(values, await measure(name));
    }
    return { columns: COLUMNS, rows };
  },
};

const COLUMNS = [
  { key: 'answer', title: 'first answer, ms', digits: 0 },
  { key: 'cpu', title: 'CPU ms', digits: 0 },
  { key: 'mb', title: 'RSS MB', digits: 1 },
  { key: 'failed', title: 'failed', digits: 0 },
];
