/** How many appends a store's event log takes in a second. */
import { openers } from '../stores/openers.mjs';

const LOGS = 50;
const EVENTS = 5;
const EVENT = JSON.stringify('x'.repeat(198));
const BUDGET_MS = 3000;
const HOUR_MS = 3_600_000;
/** The memory store bounds what it keeps. */
const LONGEST = 200;
const STORES = { memory: 'memory', 'sqlite-libsql': 'SQLite', redis: 'Redis', postgres: 'PostgreSQL' };

const keyOf = (index) => ({ scope: 'bench', id: `resp_${index}` });
const events = Array.from({ length: EVENTS }, () => EVENT);

/** Appends to one log until the time is over, at least once, and begins it again when it is long; returns the number of appends. */
async function fill(log, key, end) {
  let count = 0;
  for (; count === 0 || performance.now() < end; count += 1) {
    if (count % LONGEST === 0) await log.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + HOUR_MS });
    const from = (count % LONGEST) * EVENTS;
    const isTaken = await log.append(key, { epoch: 1, from, events, state: '{"tries":1}' });
    if (!isTaken) throw new Error('The log refused an append.');
    // A store in this process answers synchronously, and the other logs must have their turn.
    if (count % 100 === 0) await new Promise(setImmediate);
  }
  return count;
}

/** Appends per second, over all logs. */
async function round(log, names, ms) {
  const keys = names.map(keyOf);
  const began = performance.now();
  const counts = await Promise.all(keys.map((key) => fill(log, key, began + ms)));
  const seconds = (performance.now() - began) / 1000;
  const heads = await log.heads(keys);
  // A fast wrong answer must not win.
  const isRight = heads.every(({ next }, index) => next === (((counts[index] - 1) % LONGEST) + 1) * EVENTS);
  if (!isRight) throw new Error('The logs do not hold what was appended.');
  for (const key of keys) await log.delete(key);
  return counts.reduce((sum, count) => sum + count, 0) / seconds;
}

async function rowOf(name, { rounds, quick }) {
  try {
    const { store, close } = await openers[name]();
    const appends = [];
    const logs = Array.from({ length: quick ? 5 : LOGS }, (_, index) => index);
    for (let count = 0; count < rounds; count += 1)
      appends.push(await round(store.events, logs, quick ? BUDGET_MS / 30 : BUDGET_MS));
    await close();
    return { name: STORES[name], values: { appends, events: appends.map((each) => each * EVENTS) } };
  } catch (error) {
    return { name: STORES[name], values: {}, note: `not measured: ${error.message}` };
  }
}

export const appends = {
  about: `${EVENTS} events of 200 bytes in an append, ${LOGS} logs at once`,
  async run(bench) {
    const rows = [];
    for (const name of Object.keys(STORES)) rows.push(await rowOf(name, bench));
    const columns = [
      { key: 'appends', title: 'appends/s', digits: 0 },
      { key: 'events', title: 'events/s', digits: 0 },
    ];
    return { columns, rows };
  },
};
