/** The CPU of a node for each event of a background response that it creates and streams to a client. */
import { answerOf } from '../processes.mjs';
import { overEach, startNode, TITLES } from './nodes.mjs';

const CLIENTS = { burst: 32, paced: 200 };
/** The answers of a round, and the plan of the model server for each. */
const JOBS = {
  burst: { plan: 'burst:500', deltas: 500, connections: 32, turns: 160 },
  paced: { plan: 'paced:100:20', deltas: 100, connections: 200, turns: 400 },
};
const QUICK = 20;

const scaled = (count, quick) => (quick ? Math.ceil(count / QUICK) : count);

/** The CPU of the node in µs for each delta of the model. */
async function round({ clients, node, quick }, job, extra) {
  const { plan: model, deltas, connections, turns } = job;
  const before = await node.usage();
  const seen = await answerOf(clients, {
    ...{ kind: 'ask', host: node.host, port: node.port, path: node.path },
    ...{ connections: scaled(connections, quick), turns: scaled(turns, quick) },
    bodies: [{ model, input: 'Hi', stream: true, ...extra }],
  });
  const after = await node.usage();
  if (seen.failed > 0) throw new Error(`${seen.failed} answers failed.`);
  return (after.cpu - before.cpu) / (seen.answers * deltas);
}

/** The figures of one node for both jobs, after a warm-up round of each. */
async function figures(bench, setup, extra) {
  const node = await startNode(bench.start, bench.upstreamPort, setup);
  const values = {};
  for (const [name, job] of Object.entries(JOBS)) {
    values[name] = [];
    for (let count = bench.quick ? 0 : -1; count < bench.rounds; count += 1) {
      const each = await round({ ...bench, node }, job, extra);
      if (count >= 0) values[name].push(each);
    }
  }
  await node.stop();
  return values;
}

async function rowsOf(bench, where) {
  const setup = { name: 'node', ...where, queueName: 'bench-cost' };
  const background = {
    name: `background, ${TITLES[where.database]}`,
    values: await figures(bench, setup, { background: true }),
  };
  if (where.database !== 'memory') return [background];
  return [{ name: 'foreground, memory', values: await figures(bench, setup, {}) }, background];
}

export const cost = {
  about: `streams whose clients stay with their node: ${CLIENTS.burst} clients of 500 deltas as fast as they come, ${CLIENTS.paced} of 100, one every 20 ms`,
  async run(bench) {
    const rows = await overEach(['memory', ...bench.databases], (where) => rowsOf(bench, where));
    const columns = ['burst', 'paced'].map((key) => ({ key, title: `${key}, CPU µs/delta`, digits: 1 }));
    return { columns, rows };
  },
};
