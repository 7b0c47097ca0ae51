/** Stored responses: their size, and whether reading, writing and following chains takes longer among many. */
import { concurrently, microseconds, shown, slopeThrough, table } from './figures.mjs';
import { rowsOf } from './stores.mjs';

const STEPS = [1000, 10_000, 50_000, 100_000];
const CHAIN = 100;
const AT_ONCE = 32;

/** Turns of 4 kB, in chains. */
function turn(index) {
  const isFirst = index % CHAIN === 0;
  return {
    ...{ scope: `tenant-${Math.floor(index / CHAIN) % 1000}`, id: `resp_${index}`, createdAt: Date.now() },
    ...(isFirst ? {} : { previousId: `resp_${index - 1}` }),
    input: [{ type: 'message', role: 'user', content: `${index} ${'question '.repeat(110)}` }],
    output: [
      { type: 'message', id: `msg_${index}`, content: [{ type: 'output_text', text: 'an answer '.repeat(270) }] },
    ],
    resource: { id: `resp_${index}`, object: 'response', status: 'completed', metadata: {} },
  };
}

const keyOf = (index) => ({ scope: turn(index).scope, id: `resp_${index}` });

async function steps({ store, bytes, hurry = () => {} }, scaled) {
  await store.get(keyOf(0));
  const empty = await bytes();
  const rows = [];
  let count = 0;
  for (const step of STEPS.map(scaled)) {
    const from = count;
    hurry(true);
    await concurrently(step - from, AT_ONCE, (index) => store.put(turn(from + index)));
    hurry(false);
    count = step;
    const some = (round) => (round * 7919) % count;
    const put = await microseconds(100, async (round) => store.put(turn(some(round))));
    const get = await microseconds(200, async (round) => expectFound(await store.get(keyOf(some(round)))));
    const whole = Math.floor(count / CHAIN) * CHAIN;
    const last = whole > 0 ? whole - 1 : count - 1;
    const chain = await microseconds(20, async () => expectFound((await store.chain(keyOf(last), CHAIN)).at(-1)));
    rows.push({ count, size: (await bytes()) - empty, put, get, chain });
  }
  return rows;
}

/** A fast wrong answer must not win. */
function expectFound(response) {
  if (!response) throw new Error('A response is missing.');
}

export const stored = {
  about: `stored responses of 4 kB, 1,000 tenants, chains of ${CHAIN}; put, get and a whole chain one after another`,
  async run({ scaled, stores }) {
    const rows = await rowsOf(stores, async (opened) => {
      const found = await steps(opened, scaled);
      const slope = (name) => slopeThrough(found.map((row) => [row.count / 1000, row[name]]));
      const lines = found.map(({ count, size, put, get, chain }) => [
        ...[shown(count), shown(size / 2 ** 20), shown(put), shown(get), shown(chain)],
      ]);
      const perThousand = [
        `${shown(slope('size') / 2 ** 20, 2)} MB`,
        ...['put', 'get', 'chain'].map((name) => `${shown(slope(name), 2)} µs`),
      ];
      return [...lines, ['slope for 1,000', ...perThousand]];
    });
    return table(['store', 'responses', 'MB', 'put, µs', 'get, µs', `chain of ${CHAIN}, µs`], rows);
  },
};
