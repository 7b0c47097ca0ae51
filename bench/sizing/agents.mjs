/**
 * Conversations of agents that are open at the same time over one, two and four processes that share a database, and what so many of them need
 * at the pace of a model: processes, memory, statements and connections of the database.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startNode } from '../cluster/nodes.mjs';
import { answerOf, stopped } from '../processes.mjs';
import { openDatabase } from './database.mjs';
import { shown, table } from './figures.mjs';

const CONVERSATIONS = 10_000;
const PROCESSES = [1, 2, 4];
const DATABASES = { Redis: 'redis', PostgreSQL: 'postgres' };
/** The API keys of the clients: one tenant may follow 1,000 responses of a process, and no more. */
const TENANTS = 100;
/** What the end of a whole answer holds. */
const COMPLETED = 'event: response.completed';
/** Two files for a stream, and some for everything else. */
const OTHER_FILES = 200;

/** How long a process without requests is looked at: its queue asks the database all the same. */
const IDLE_MS = 5000;

/** Many that say little: their memory, and how many a machine holds. */
const OPEN = { plan: 'paced:16:5000', deltas: 16, spreadMs: 45_000, looksAfterMs: 60_000 };
const OPEN_QUICK = { plan: 'paced:3:1000', deltas: 3, spreadMs: 500, looksAfterMs: 1500 };
/** Fewer at the pace of a model, thirty tokens a second: what a second of a stream costs. */
const PACE = { plan: 'paced:300:33', deltas: 300, spreadMs: 2000, looksAfterMs: 5000, seconds: 300 * 0.033 };
const STREAMS_AT_PACE = 100;

/** What is sized for; a process takes no more than this part of a core, and a database no more than this of its own. */
const TARGETS = [1000, 10_000, 100_000];
const MOST_OF_A_CORE = 0.7;

/** Runs `count` conversations over so many nodes, and returns what they and the database took. */
async function measured({ start }, { database, name, count, processes, isBackground, job }) {
  const model = start('upstream.mjs', [0]);
  const { port: modelPort } = await answerOf(model);
  const setups = Array.from({ length: processes }, (_, index) => ({
    ...{ name: `node-${index}`, database: name, url: database.url, queueName: 'bench-agents' },
    concurrency: count,
  }));
  const nodes = await Promise.all(setups.map((setup) => startNode(start, modelPort, setup)));
  const clients = nodes.map(() => start('load.mjs'));
  const bodies = (plan) => [{ model: plan, input: 'Hi', stream: true, ...(isBackground ? { background: true } : {}) }];
  const each = Math.ceil(count / processes);
  const ask = (plan, connections, spreadMs) =>
    Promise.all(
      nodes.map(({ host, port, path }, index) =>
        answerOf(clients[index], {
          ...{
            kind: 'ask',
            host,
            port,
            path,
            connections,
            turns: connections,
            bodies: bodies(plan),
            tenants: TENANTS,
            spreadMs,
            holds: COMPLETED,
          },
        }),
      ),
    );
  try {
    await ask('short:8', Math.min(each, 20), 0);
    const idle = await counted(database, nodes);
    await sleep(IDLE_MS);
    const before = await counted(database, nodes);
    const answers = ask(job.plan, each, job.spreadMs);
    // Handled below; a failure before that must not end the run.
    answers.catch(() => {});
    await sleep(job.looksAfterMs);
    const during = await counted(database, nodes);
    const seen = await answers;
    const after = await counted(database, nodes);
    const sum = (key) => seen.reduce((total, answer) => total + answer[key], 0);
    return {
      ...{ count: each * processes, processes, failed: sum('failed'), answers: sum('answers') },
      reasons: seen.flatMap(({ reasons }) => Object.entries(reasons)),
      rss: during.rss / processes,
      perStream: (during.rss - before.rss) / (each * processes),
      connections: during.connections,
      ...forEach(sum('answers'), { idle, before, after }),
      idleStatements: rate('statements', idle, before) / processes,
    };
  } finally {
    await Promise.all([...[model, ...clients].map(stopped), ...nodes.map((node) => node.stop())]);
  }
}

/** What each answer took, without what the idle processes and their database would have taken in that time. */
function forEach(answers, { idle, before, after }) {
  const seconds = (after.at - before.at) / 1000;
  const keys = ['cpu', 'statements', 'databaseCpu'];
  return Object.fromEntries(
    keys.map((key) => [key, (after[key] - before[key] - seconds * rate(key, idle, before)) / answers]),
  );
}

/** In a second. */
function rate(key, from, to) {
  return ((to[key] - from[key]) / (to.at - from.at)) * 1000;
}

async function counted(database, nodes) {
  const usages = await Promise.all(nodes.map((node) => node.usage('collected')));
  const { cpu: databaseCpu, ...counts } = await database.counts();
  const sum = (key) => usages.reduce((total, usage) => total + usage[key], 0);
  return { ...counts, databaseCpu, cpu: sum('cpu'), rss: sum('rss'), at: performance.now() };
}

/** What one stream in progress needs for a second of its life. */
function costs({ cpu, statements, idleStatements, databaseCpu, connections, processes }, perStream) {
  const { seconds } = PACE;
  return {
    cores: cpu / 1e6 / seconds,
    databaseCores: databaseCpu / 1e6 / seconds,
    statements: statements / seconds,
    idleStatements,
    connections: connections / processes,
    perStream,
  };
}

/** What so many streams need, and the part that is full first. */
function need(streams, { cores, databaseCores, statements, idleStatements, connections, perStream }, base) {
  const processes = Math.max(1, Math.ceil((streams * cores) / MOST_OF_A_CORE));
  const database = (streams * databaseCores) / MOST_OF_A_CORE;
  return {
    processes,
    megabytes: (processes * base + streams * perStream) / 2 ** 20,
    statements: streams * statements + processes * idleStatements,
    connections: processes * connections,
    database,
    // How many streams the first core of each holds.
    first: cores > databaseCores ? 'the processes' : 'the database',
    streamsOfOne: MOST_OF_A_CORE / Math.max(cores, databaseCores),
  };
}

/** The measurements of one database, as rows of both tables. */
async function sized(bench, title) {
  const name = DATABASES[title];
  const database = await openDatabase(name);
  const isQuick = bench.scaled(CONVERSATIONS) < CONVERSATIONS;
  const open = isQuick ? OPEN_QUICK : OPEN;
  const files = Number(process.env.SIZING_FILES) || Number.POSITIVE_INFINITY;
  const rows = { open: [], need: [] };
  try {
    for (const isBackground of [false, true]) {
      const kind = isBackground ? 'in the background' : 'stored at its end';
      let last;
      for (const processes of PROCESSES) {
        const most = Math.floor(Math.min(files - OTHER_FILES, (processes * (files - OTHER_FILES)) / 2));
        const count = Math.min(bench.scaled(CONVERSATIONS), most);
        console.error(`${new Date().toLocaleTimeString('en')}: ${title}, ${kind}, ${processes}`);
        last = await measured(bench, { database, name, count, processes, isBackground, job: open });
        for (const [reason, times] of last.reasons) console.error(`${times} ended so: ${reason}`);
        rows.open.push([
          ...[title, kind, processes, shown(last.count), shown(last.failed)],
          ...[shown(last.rss / 2 ** 20), shown(last.perStream / 1024, 1), shown(last.connections)],
          ...[shown(last.cpu / 1000, 1), shown(last.statements, 1), shown(last.databaseCpu / 1000, 1)],
        ]);
      }
      const setup = { database, name, count: bench.scaled(STREAMS_AT_PACE), processes: 1, isBackground, job: PACE };
      const paced = await measured(bench, setup);
      if (paced.failed > 0) throw new Error(`${paced.failed} of ${paced.count} streams failed at the pace of a model.`);
      const cost = costs(paced, Math.max(0, last.perStream));
      const base = paced.rss - paced.perStream * paced.count;
      for (const streams of TARGETS) {
        const {
          processes,
          megabytes,
          statements,
          connections,
          database: cores,
          first,
          streamsOfOne,
        } = need(streams, cost, base);
        rows.need.push([
          ...[title, kind, shown(streams), shown(processes), shown(megabytes)],
          ...[shown(statements), shown(connections), shown(cores, 1), `${first}, at ${shown(streamsOfOne)}`],
        ]);
      }
    }
    return rows;
  } finally {
    await database.close();
  }
}

const OPEN_HEAD = ['database', 'each is', 'processes', 'open', 'failed', 'RSS of a process, MB', 'KB for each'];
const OPEN_HEAD_2 = ['connections', 'CPU ms for each', 'statements for each', 'the database’s CPU ms for each'];
const NEED_HEAD = ['database', 'each is', 'streams', 'processes', 'memory, MB', 'statements/s', 'connections'];
const NEED_HEAD_2 = ['cores of the database', 'a core is full first of'];

export const agents = {
  about: `${shown(CONVERSATIONS)} conversations that are open at once, of which each receives a delta every 5 s, over ${PROCESSES.join(', ')} processes; and what streams of 30 tokens a second need`,
  async run(bench) {
    const open = [];
    const needs = [];
    const missing = [];
    for (const title of bench.stores.filter((name) => name in DATABASES)) {
      try {
        const rows = await sized(bench, title);
        open.push(...rows.open);
        needs.push(...rows.need);
      } catch (error) {
        missing.push(`${title} was not measured: ${error.message}`);
      }
    }
    const tables = [
      table([...OPEN_HEAD, ...OPEN_HEAD_2], open),
      `Computed from ${STREAMS_AT_PACE} streams of 30 tokens a second in one process, at ${MOST_OF_A_CORE * 100} % of a core:`,
      table([...NEED_HEAD, ...NEED_HEAD_2], needs),
    ];
    return [...tables, ...missing].join('\n\n');
  },
};
