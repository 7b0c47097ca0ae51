/** CPU of many answers: the same load for each server in turn, round by round. */

/** Rounds that are not counted. */
const WARM_UP = 3;
/**
 * Requests of each server before its first round. A server runs for weeks, and V8 has compiled its code for good after some
 * 20,000 requests: the first thousands take four times the CPU, and those up to the 15,000th at times twice as much.
 */
const COMPILED_AFTER = 25_000;
const COMPILED_WITH = { connections: 32, turns: 1000 };
/** A slow server is as warm as it gets, in milliseconds. */
const LONGEST_WARM_UP_MS = 10_000;
/** A round of one server, in milliseconds, past which it has fewer turns in the next: the others cool down while they wait. */
const LONGEST_MS = 5000;

/**
 * Calls `round` to warm up, and then for each round of the run, or until this share of a scenario's time is over; its argument
 * is whether the round counts. Returns how many did.
 */
export async function rounds(bench, round, { warmUp = WARM_UP, share = 1 } = {}) {
  for (let count = 0; count < warmUp && !bench.quick; count += 1) await round(false);
  const end = performance.now() + bench.scenarioMs * share;
  let counted = 0;
  while (counted === 0 || (counted < bench.rounds && performance.now() < end)) {
    await round(true);
    counted += 1;
  }
  return counted;
}

/** Sends these requests until the server's code is compiled. */
export async function warmUpServer(bench, server, bodies) {
  const end = performance.now() + LONGEST_WARM_UP_MS;
  for (let left = bench.scaled(COMPILED_AFTER); left > 0 && performance.now() < end; left -= COMPILED_WITH.turns)
    await bench.load(server, 'ask', { ...COMPILED_WITH, turns: Math.min(left, COMPILED_WITH.turns), bodies });
}

const COLUMNS = {
  event: { key: 'event', title: 'CPU µs/event', digits: 2, ratio: true },
  request: { key: 'request', title: 'CPU µs/request', digits: 0, ratio: true },
  first: { key: 'first', title: 'first byte p50, ms', digits: 2 },
  rss: { key: 'rss', title: 'RSS MB', digits: 0 },
  failed: { key: 'failed', title: 'failed', digits: 0 },
};

/**
 * Measures `servers`, each with the requests of `bodiesOf` in a turn, once the short ones of `shortBodiesOf` have warmed it up;
 * `events` is their number in an answer, or undefined to count requests. Stops the servers.
 */
export async function inRounds(bench, servers, { bodiesOf, shortBodiesOf = bodiesOf, events, warmUp, ...load }) {
  const { right, wrong } = await bench.checked(servers, bodiesOf);
  const sent = (server, bodies) => bodies(server).map((body) => [body].flat()[0]);
  const rows = new Map(right.map((server) => [server, { name: server.name, values: {} }]));
  const job = { connections: bench.scaled(load.connections), turns: bench.scaled(load.turns) };
  const turnsOf = new Map();
  for (const server of right) await warmUpServer(bench, server, sent(server, shortBodiesOf));
  const round = async (counts) => {
    for (const server of right) {
      const turns = turnsOf.get(server) ?? job.turns;
      const began = performance.now();
      const seen = await oneRound(bench, server, { ...job, turns, bodies: sent(server, bodiesOf) }, events);
      const part = LONGEST_MS / (performance.now() - began);
      if (part < 1) turnsOf.set(server, Math.max(job.connections, Math.floor(turns * part)));
      if (counts) add(rows.get(server).values, seen);
    }
  };
  const counted = await rounds(bench, round, { warmUp });
  await Promise.all(servers.map((server) => server.stop()));
  const columns = [...(events ? [COLUMNS.event] : []), COLUMNS.request, COLUMNS.first, COLUMNS.rss, COLUMNS.failed];
  return { rounds: counted, columns, rows: [...rows.values(), ...wrongRows(wrong)] };
}

/** The rows of servers whose answers are wrong, with the reasons. */
export function wrongRows(wrong) {
  return [...wrong].map(([{ name }, note]) => ({ name, values: {}, note }));
}

async function oneRound(bench, server, job, events) {
  const before = await server.usage();
  const { answers, failed, firstByte } = await bench.load(server, 'ask', job);
  const after = await server.usage();
  const request = ((after.cpu - before.cpu) / answers) * job.bodies.length;
  return {
    request,
    ...(events ? { event: request / events } : {}),
    first: firstByte.p50,
    rss: after.rss / 1e6,
    failed,
  };
}

/** The figures of a single measurement. */
export function listed(figures) {
  return Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, [value]]));
}

/** Adds the figures of one round to those of the earlier rounds. */
export function add(values, seen) {
  for (const [key, value] of Object.entries(seen)) values[key] = [...(values[key] ?? []), value];
}
