/** The memory of an open stream while the model sends nothing. */
import { setTimeout as pause } from 'node:timers/promises';
import { bodyOf } from '../answers.mjs';
import { oneByOne } from './one-by-one.mjs';

const STREAMS = 2000;
const WARM_UP = { plan: 'short:8', connections: 32, turns: 200 };
const SETTLES_MS = 500;

/** RSS above the idle process in KB for each stream, before and after a garbage collection. */
async function perStream(bench, server) {
  const { plan, ...warmUp } = WARM_UP;
  await bench.load(server, 'ask', { ...warmUp, bodies: [bodyOf(server.api, plan)] });
  const idle = await server.usage('collected');
  const streams = bench.scaled(STREAMS);
  await bench.load(server, 'hold', { connections: streams, bodies: [bodyOf(server.api, 'idle')] });
  await pause(SETTLES_MS);
  const asItComes = await server.usage();
  const collected = await server.usage('collected');
  const each = (bytes) => bytes / streams / 1024;
  return {
    rss: each(asItComes.rss - idle.rss),
    collected: each(collected.rss - idle.rss),
    heap: each(collected.heap - idle.heap),
    whole: collected.rss / 1e6,
  };
}

export const idle = {
  about: '2,000 open streams whose model has sent one word',
  async run(bench) {
    return { columns: COLUMNS, rows: await oneByOne(bench, perStream) };
  },
};

const COLUMNS = [
  { key: 'rss', title: 'RSS KB/stream', digits: 1, ratio: true },
  { key: 'collected', title: 'after a collection', digits: 1, ratio: true },
  { key: 'heap', title: 'of it heap', digits: 1 },
  { key: 'whole', title: 'process, MB', digits: 0 },
];
