/** Many streams at once over two nodes, each read from the node that did not begin it. */
import { answerOf } from '../processes.mjs';
import { overEach, startNode, TITLES } from './nodes.mjs';

const STREAMS = 200;
const DELTAS = 100;
const EVERY_MS = 50;
const QUICK = 20;

async function usageOf(nodes) {
  const all = await Promise.all(nodes.map((node) => node.usage()));
  return all.reduce((sum, { cpu }) => sum + cpu, 0);
}

async function round({ readers, quick }, nodes) {
  const before = await usageOf(nodes);
  const count = quick ? STREAMS / QUICK : STREAMS;
  const where = nodes.map(({ host, port }) => ({ host, port }));
  const seen = await answerOf(readers, { nodes: where, count, model: `stamped:${DELTAS}:${EVERY_MS}` });
  const cpu = (await usageOf(nodes)) - before;
  return {
    finished: seen.finished,
    rate: seen.events / seen.seconds,
    p50: seen.delay.p50,
    p99: seen.delay.p99,
    cpu: cpu / seen.events,
    cores: cpu / 1e6 / seen.seconds,
  };
}

async function rowsOf(bench, where) {
  const names = ['a', 'b'];
  const nodes = await Promise.all(
    names.map((name) => startNode(bench.start, bench.upstreamPort, { name, ...where, queueName: 'bench-streams' })),
  );
  const values = {};
  for (let count = bench.quick ? 0 : -1; count < bench.rounds; count += 1) {
    const figures = await round(bench, nodes);
    if (count < 0) continue;
    for (const [key, value] of Object.entries(figures)) values[key] = [...(values[key] ?? []), value];
  }
  await Promise.all(nodes.map((node) => node.stop()));
  return [{ name: TITLES[where.database], values }];
}

export const streams = {
  about: `${STREAMS} streams of ${DELTAS} deltas, one every ${EVERY_MS} ms, begun on two nodes in turn and each read from the other`,
  async run(bench) {
    return { columns: COLUMNS, rows: await overEach(bench.databases, (where) => rowsOf(bench, where)) };
  },
};

const COLUMNS = [
  { key: 'finished', title: 'finished', digits: 0 },
  { key: 'rate', title: 'events/s', digits: 0 },
  { key: 'p50', title: 'model to reader p50, ms', digits: 0 },
  { key: 'p99', title: 'p99, ms', digits: 0 },
  { key: 'cpu', title: 'CPU µs/event, both nodes', digits: 0 },
  { key: 'cores', title: 'cores, both nodes', digits: 2 },
];
