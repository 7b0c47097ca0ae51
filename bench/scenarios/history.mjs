/** Long conversations in each store: what turn 1,000 costs more than turn 1. */
import { ask, bodyOf } from '../answers.mjs';
import { median } from '../table.mjs';
import { add, rounds } from './rounds.mjs';

const STORES = ['memory', 'sqlite-libsql', 'redis', 'postgres'];
// The first turn, the second, which is the first with a history, and late ones.
const EARLY = [1, 2];
const LATE = [100, 1000];
// With fewer samples, a single garbage collection would decide.
const SAMPLES = 100;
const TRIES = 3;
const WARM_UP = 2;
/** The part of a scenario's time for each store: with two rounds, one full garbage collection would decide. */
const SHARE = 1 / 2;

function body(previous) {
  return { ...bodyOf('responses', 'messages'), ...(previous ? { previous_response_id: previous } : {}) };
}

/** One turn. The model answers with the number of messages that it received, which must be all. Returns the id. */
async function turn(server, number, previous) {
  const { id, text } = await ask(server, body(previous));
  if (text === String(2 * number - 1)) return id;
  throw new Error(`the model of turn ${number} was sent ${text} messages`);
}

/** The lowest count of some tries: in some of them the store also sweeps. */
async function tripsOf(server, number, previous) {
  const tries = [];
  while (tries.length < TRIES) {
    const before = await server.ask({ ask: 'trips' });
    await turn(server, number, previous);
    tries.push((await server.ask({ ask: 'trips' })).trips - before.trips);
  }
  return Math.min(...tries);
}

/** Times the turn, and the least work that any server must do; the overhead is CPU time, which other processes do not lengthen. */
async function timed(bench, server, number, previous) {
  const before = await server.usage();
  const { whole } = await bench.load(server, 'ask', { connections: 1, turns: SAMPLES, bodies: [body(previous)] });
  const between = await server.usage();
  const { times } = await server.ask({ ask: 'floors', previous, most: number, samples: SAMPLES });
  const after = await server.usage();
  const [turnCpu, floorCpu] = [between.cpu - before.cpu, after.cpu - between.cpu].map((us) => us / SAMPLES / 1000);
  return { time: whole.p50, floor: median(times), turnCpu, floorCpu, overhead: turnCpu - floorCpu };
}

async function measured(bench, store, server) {
  const late = LATE.map(bench.scaled);
  const numbers = [...EARLY, ...late];
  const { ids } = await server.ask({ ask: 'grow', first: await turn(server, 1), turns: numbers.at(-1) - 1 });
  const previous = (number) => ids[number - 2];
  const rows = numbers.map((number) => ({ name: `${store}, turn ${number.toLocaleString('en')}`, values: {} }));
  for (const [index, number] of numbers.entries())
    add(rows[index].values, { trips: await tripsOf(server, number, previous(number)) });
  const round = async (counts) => {
    for (const [index, number] of numbers.entries()) {
      const seen = await timed(bench, server, number, previous(number));
      if (counts) add(rows[index].values, seen);
    }
  };
  await rounds(bench, round, { warmUp: WARM_UP, share: SHARE });
  const [first, second, ...rest] = rows;
  for (const { values } of rest) compare(values, first.values, second.values);
  return rows;
}

/** Compares a late turn with the first, round by round, and its round trips with those of the second, which has a history. */
function compare(late, first, second) {
  late.overheads = late.overhead.map((overhead, round) => overhead / first.overhead[round]);
  late.moreTrips = [late.trips[0] - second.trips[0]];
}

async function rowsOf(bench, store) {
  const server = await bench.start(store, { file: 'history.mjs', args: [store], api: 'responses' });
  try {
    return await measured(bench, store, server);
  } finally {
    await server.ask({ ask: 'close' }).catch(() => {});
    await server.stop();
  }
}

export const history = {
  about: 'turns of one conversation, against reading it from the store and sending it to the model',
  async run(bench) {
    const rows = [];
    for (const store of STORES) {
      const unmeasured = (error) => [{ name: store, values: {}, note: `not measured: ${error.message}` }];
      rows.push(...(await rowsOf(bench, store).catch(unmeasured)));
    }
    return { columns: COLUMNS, rows };
  },
};

const COLUMNS = [
  { key: 'time', title: 'turn, ms', digits: 2 },
  { key: 'floor', title: 'read and send, ms', digits: 2 },
  { key: 'turnCpu', title: 'turn, CPU ms', digits: 2 },
  { key: 'floorCpu', title: 'read and send, CPU ms', digits: 2 },
  { key: 'overhead', title: 'overhead, CPU ms', digits: 2 },
  { key: 'overheads', title: '× turn 1’s', digits: 2 },
  { key: 'trips', title: 'store round trips', digits: 0 },
];
