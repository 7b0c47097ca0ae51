/** The time that a server adds until a client sees a delta, compared with the model server itself. */
import { bodyOf } from '../answers.mjs';
import { add, rounds, warmUpServer, wrongRows } from './rounds.mjs';

/** One client, one answer after another. */
const ALONE = { plan: 'stamped:1:1', connections: 1, turns: 200 };
/** The usual load of a model server. */
const TOGETHER = { plan: 'stamped:50:20', connections: 200, turns: 200 };

async function timed(bench, server, { plan, connections, turns }) {
  const bodies = [bodyOf(server.api, plan)];
  return bench.load(server, 'ask', { bodies, connections: bench.scaled(connections), turns: bench.scaled(turns) });
}

async function oneRound(bench, server) {
  const { firstDelta, failed } = await timed(bench, server, ALONE);
  const together = await timed(bench, server, TOGETHER);
  return { first: firstDelta.p50, p50: together.delay.p50, p99: together.delay.p99, failed: failed + together.failed };
}

export const latency = {
  about: 'added to the first delta of one client at a time, and to each of 200 clients with a delta every 20 ms',
  async run(bench) {
    const all = [...(await bench.startAll()), ...bench.peers()];
    // A stamped plan has a different answer each time, so another plan is checked.
    const { right: servers, wrong } = await bench.checked(all, ({ api }) => [bodyOf(api, 'short:8')]);
    const rows = servers.map(({ name }) => ({ name, values: {} }));
    const direct = { name: 'direct, not added', values: {} };
    for (const server of servers) await warmUpServer(bench, server, [bodyOf(server.api, 'short:8')]);
    const round = async (counts) => {
      const floor = await oneRound(bench, bench.direct);
      if (counts) add(direct.values, floor);
      for (const [index, server] of servers.entries()) {
        const seen = await oneRound(bench, server);
        if (counts) add(rows[index].values, above(floor, seen));
      }
    };
    const counted = await rounds(bench, round, { warmUp: 1 });
    await Promise.all(all.map((server) => server.stop()));
    return { rounds: counted, columns: COLUMNS, rows: [...rows, direct, ...wrongRows(wrong)] };
  },
};

function above(floor, { failed, ...seen }) {
  return { ...Object.fromEntries(Object.entries(seen).map(([key, ms]) => [key, ms - floor[key]])), failed };
}

const COLUMNS = [
  { key: 'first', title: 'first delta, ms', digits: 3, ratio: true },
  { key: 'p50', title: 'event p50, ms', digits: 3, ratio: true },
  { key: 'p99', title: 'event p99, ms', digits: 2 },
  { key: 'failed', title: 'failed', digits: 0 },
];
