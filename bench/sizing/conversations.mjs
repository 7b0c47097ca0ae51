/** Conversations: whether an append, a page and a whole read take longer as they grow. */
import { microseconds, shown, slopeThrough, table } from './figures.mjs';
import { rowsOf } from './stores.mjs';

const STEPS = [100, 1000, 5000];
const KEY = { scope: 'tenant', id: 'conv_1' };
const item = (index) => ({
  type: 'message',
  id: `msg_${index}`,
  role: 'user',
  content: [{ type: 'input_text', text: 'x'.repeat(500) }],
});

async function steps({ conversations }, scaled) {
  await conversations.put({ ...KEY, createdAt: Date.now(), metadata: {} });
  const rows = [];
  let count = 0;
  const append = async () => {
    const isThere = await conversations.append(KEY, [item(count)]);
    if (isThere !== true) throw new Error('The conversation is gone.');
    count += 1;
  };
  for (const step of STEPS.map(scaled)) {
    while (count < step) await append();
    const appended = await microseconds(50, append);
    const page = await microseconds(50, () => conversations.page(KEY, { limit: 20, order: 'desc' }));
    const whole = await microseconds(10, () => conversations.items(KEY));
    rows.push({ step, appended, page, whole });
  }
  return rows;
}

export const conversations = {
  about: 'one conversation with messages of 500 characters: an append, the last 20, and all of it',
  async run({ scaled, stores }) {
    const rows = await rowsOf(stores, async ({ store }) => {
      const found = await steps(store, scaled);
      const slope = (name) => `${shown(slopeThrough(found.map((row) => [row.step / 1000, row[name]])), 1)} µs`;
      const lines = found.map(({ step, appended, page, whole }) => [
        shown(step),
        shown(appended),
        shown(page),
        shown(whole),
      ]);
      return [...lines, ['slope for 1,000', slope('appended'), slope('page'), slope('whole')]];
    });
    return table(['store', 'items', 'append, µs', 'page of 20, µs', 'all, µs'], rows);
  },
};
