/** Two processes on two cores compared with one: how many more answers they can give, by the CPU of an answer. */
import { bodyOf } from '../answers.mjs';
import { add, rounds, warmUpServer } from './rounds.mjs';

const NAME = 'ours in Express';
const LOAD = { plan: 'burst:500', connections: 16, turns: 100 };

async function cpuOf(bench, server, load) {
  const { plan, ...job } = LOAD;
  const scaled = { connections: bench.scaled(job.connections), turns: bench.scaled(job.turns) };
  const before = await server.usage();
  const { answers, failed } = await load(server, 'ask', { ...scaled, bodies: [bodyOf(server.api, plan)] });
  const after = await server.usage();
  return { cpu: (after.cpu - before.cpu) / answers, failed };
}

/** `capacity` is how many times as many answers two cores give as one: the CPU of an answer is that of its core. */
async function oneRound(bench, [first, second], [load, otherLoad]) {
  const alone = await cpuOf(bench, first, load);
  const both = await Promise.all([cpuOf(bench, first, load), cpuOf(bench, second, otherLoad)]);
  const [one, other] = both.map(({ cpu }) => cpu);
  const failed = [alone, ...both].reduce((sum, each) => sum + each.failed, 0);
  return { alone: alone.cpu, together: (one + other) / 2, capacity: alone.cpu / one + alone.cpu / other, failed };
}

export const twoProcesses = {
  about: 'two processes on two cores, 16 clients of 500 deltas each, beside one of them alone',
  async run(bench) {
    const servers = [await bench.start(NAME), await bench.start(NAME, undefined, 'other')];
    const loads = [bench.load, bench.moreClients()];
    for (const server of servers) await warmUpServer(bench, server, [bodyOf(server.api, 'short:8')]);
    const values = {};
    const counted = await rounds(bench, async (counts) => {
      const seen = await oneRound(bench, servers, loads);
      if (counts) add(values, seen);
    });
    await Promise.all(servers.map((server) => server.stop()));
    return { rounds: counted, columns: COLUMNS, rows: [{ name: NAME, values }] };
  },
};

const COLUMNS = [
  { key: 'alone', title: 'one, CPU µs/request', digits: 0 },
  { key: 'together', title: 'two at once', digits: 0 },
  { key: 'capacity', title: '× the answers of one', digits: 2 },
  { key: 'failed', title: 'failed', digits: 0 },
];
