/** Clients that send a request and never read: the model must be slowed down, and its output not kept in memory. */
import { setTimeout as pause } from 'node:timers/promises';
import { bodyOf } from '../answers.mjs';
import { oneByOne } from './one-by-one.mjs';

const CLIENTS = 30;
const PLAN = 'flood:66';
const LOOKS_EVERY_MS = 1000;
// With less growth than this between two samples, the buffers of the sockets are full.
const SETTLED = 1.01;
const MOST_LOOKS = 6;
const LATER_MS = 2000;

/** The memory once it no longer grows, or after the longest wait. */
async function settledUsage(bench, server) {
  let last = await server.usage();
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    await pause(bench.scaled(LOOKS_EVERY_MS));
    const before = last;
    last = await server.usage();
    if (look > 0 && last.rss < before.rss * SETTLED) return last;
  }
  return last;
}

async function measured(bench, server) {
  const bodies = [bodyOf(server.api, PLAN)];
  const before = await server.usage();
  await bench.load(server, 'hold', { connections: CLIENTS, bodies, stalled: true });
  const early = await settledUsage(bench, server);
  await pause(bench.scaled(LATER_MS));
  const late = await server.usage();
  return {
    before: before.rss / 1e6,
    early: early.rss / 1e6,
    late: late.rss / 1e6,
    heap: late.heap / 1e6,
    growth: (100 * (late.rss - early.rss)) / early.rss,
  };
}

export const stalled = {
  about: '30 clients that never read streams of 66 MB, looked at once memory stands still, or after 6 s, and 2 s later',
  async run(bench) {
    return { columns: COLUMNS, rows: await oneByOne(bench, measured) };
  },
};

const COLUMNS = [
  { key: 'before', title: 'RSS before, MB', digits: 0 },
  { key: 'early', title: 'early', digits: 0 },
  { key: 'late', title: 'late', digits: 0, ratio: true },
  { key: 'heap', title: 'of it heap', digits: 0 },
  { key: 'growth', title: 'growth, %', digits: 1 },
];
