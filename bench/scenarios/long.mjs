/** Many requests to one process: whether it leaks memory with each. */
import { bodyOf } from '../answers.mjs';
import { slopeOf } from '../slope.mjs';
import { listed } from './rounds.mjs';

const SAMPLES = 100;
const TURNS = 1000;
// The store is full after 10,000 responses; until then memory must grow.
const SETTLED_AFTER = 20;
const PLAN = 'short:4';
const SERVERS = ['pass-through in Express', 'ours in Express'];

/** RSS and heap after a collection, in KB, after every so many requests. */
async function samplesOf(bench, server) {
  const job = { connections: 64, turns: bench.scaled(TURNS), bodies: [bodyOf(server.api, PLAN)] };
  const samples = [];
  for (let index = 0; index < SAMPLES; index += 1) {
    const { failed } = await bench.load(server, 'ask', job);
    const { rss, heap } = await server.usage('collected');
    samples.push({ rss: rss / 1024, heap: heap / 1024, failed });
  }
  return samples;
}

async function measured(bench, name) {
  const server = await bench.start(name);
  const samples = await samplesOf(bench, server);
  await server.stop();
  const settled = samples.slice(SETTLED_AFTER);
  const rss = slopeOf(settled.map((sample) => sample.rss));
  const heap = slopeOf(settled.map((sample) => sample.heap));
  const shown = {
    rss: rss.slope,
    rssError: rss.error,
    errors: rss.slope / rss.error,
    heap: heap.slope,
    heapError: heap.error,
  };
  const failed = samples.reduce((sum, sample) => sum + sample.failed, 0);
  const values = { ...shown, start: settled[0].rss / 1000, end: samples.at(-1).rss / 1000, failed };
  return { name, values: listed(values) };
}

export const long = {
  onlyOnRequest: true,
  forGoals: false,
  about: '100,000 requests, memory after a collection from the 20,000th on; slopes in KB per 1,000 requests',
  async run(bench) {
    const rows = [];
    for (const name of SERVERS) rows.push(await measured(bench, name));
    return { columns: COLUMNS, rows };
  },
};

const COLUMNS = [
  { key: 'start', title: 'RSS MB at 20,000', digits: 1 },
  { key: 'end', title: 'at the end', digits: 1 },
  { key: 'rss', title: 'slope of RSS', digits: 2 },
  { key: 'rssError', title: '± standard error', digits: 2 },
  { key: 'errors', title: 'slope in errors', digits: 2 },
  { key: 'heap', title: 'slope of heap', digits: 2 },
  { key: 'heapError', title: '± standard error', digits: 2 },
  { key: 'failed', title: 'failed', digits: 0 },
];
