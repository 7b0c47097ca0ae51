/** Measures put, get and chain of each store: `npm run build && node bench/stores/run.mjs [--store memory,redis,…]`. */
import { parseArgs } from 'node:util';
import { openers } from './openers.mjs';

// Each measurement stops at the first of these limits; all together take less than a minute.
const ROUNDS = 2000;
const BUDGET_MS = 800;
const CHAIN = 1000;
const LENGTHS = [10, 100, CHAIN];
// With fewer rounds a median means nothing.
const LEAST_ROUNDS = 5;

const { values } = parseArgs({ options: { store: { type: 'string', default: Object.keys(openers).join(',') } } });
const columns = ['put', 'get', ...LENGTHS.map((length) => `chain of ${length.toLocaleString('en')}`)];
console.log(
  `Median of each call in µs, and calls per second one after another; turns of 4 kB; Node ${process.version}\n`,
);
console.log(`| Store | ${columns.join(' | ')} |\n|---|${columns.map(() => '---|').join('')}`);
for (const name of values.store.split(',')) console.log(`| ${name} | ${(await row(name)).join(' | ')} |`);
// Exits even if a server has left something open.
process.exit();

async function row(name) {
  if (!openers[name])
    throw new TypeError(`--store: there is no store '${name}'; known are ${Object.keys(openers).join(', ')}`);
  try {
    const { store, close } = await openers[name]();
    const cells = await measured(store);
    await close();
    return cells;
  } catch (error) {
    return columns.map((_, index) => (index === 0 ? `not measured: ${error.message}` : ''));
  }
}

async function measured(store) {
  for (let index = 0; index < CHAIN; index += 1) await store.put(turn(index, index - 1));
  const cells = [await time((round) => store.put(turn(CHAIN + round)))];
  cells.push(await time((round) => expectLength(1, store.get(turn((round * 7) % CHAIN)))));
  for (const length of LENGTHS)
    cells.push(await time(() => expectLength(length, store.chain(turn(CHAIN - 1), length))));
  return cells;
}

/** A fast wrong answer must not win. */
async function expectLength(length, answer) {
  const found = [await answer].flat().filter(Boolean);
  if (found.length !== length) throw new Error(`${found.length} responses instead of ${length}`);
}

async function time(call) {
  const took = [];
  const end = performance.now() + BUDGET_MS;
  while (took.length < LEAST_ROUNDS || (took.length < ROUNDS && performance.now() < end)) {
    const start = performance.now();
    await call(took.length);
    took.push(performance.now() - start);
  }
  const median = took.sort((one, other) => one - other)[took.length >> 1];
  const perSecond = (took.length * 1000) / took.reduce((sum, ms) => sum + ms, 0);
  return `${Math.round(median * 1000).toLocaleString('en')} µs, ${Math.round(perSecond).toLocaleString('en')}/s`;
}

function turn(index, previous = -1) {
  return {
    ...{ scope: 'bench', id: `resp_${index}`, createdAt: Date.now() },
    ...(previous < 0 ? {} : { previousId: `resp_${previous}` }),
    input: [{ type: 'message', role: 'user', content: `${index} ${'question '.repeat(110)}` }],
    output: [
      { type: 'message', id: `msg_${index}`, content: [{ type: 'output_text', text: 'an answer '.repeat(270) }] },
    ],
    resource: { id: `resp_${index}`, object: 'response', status: 'completed', metadata: {} },
  };
}
