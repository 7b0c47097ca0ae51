/** A database under test, and what it was asked: its statements, its connections and its CPU. */
import { readdirSync, readFileSync } from 'node:fs';
import { startDatabase } from '../stores/openers.mjs';

/** The program of each, as Linux names its processes. */
const PROGRAMS = { redis: 'redis-server', postgres: 'postgres' };
// A clock tick of Linux is a hundredth of a second on all platforms of Node.
const TICK_US = 10_000;
/** PostgreSQL reports what a connection has done about a second later. */
const REPORTS_WITHIN_MS = 1500;

/** Starts it durably; `counts` are its writes so far, its connections and its CPU in µs. Throws if it is not installed. */
export async function openDatabase(name) {
  const server = await startDatabase(name);
  const counters = await openers[name](server.url);
  return {
    url: server.url,
    async counts() {
      return { ...(await counters.read()), cpu: cpuOf(PROGRAMS[name]) };
    },
    async close() {
      await counters.close();
      await server.close();
    },
  };
}

const openers = {
  async redis(url) {
    const { createClient } = await import('redis');
    const client = await createClient({ url })
      .on('error', () => {})
      .connect();
    const field = (info, key) => Number(new RegExp(`${key}:(\\d+)`).exec(info)?.[1]);
    return {
      async read() {
        const info = await client.info();
        return {
          statements: field(info, 'total_commands_processed'),
          connections: field(info, 'connected_clients') - 1,
        };
      },
      close: () => client.destroy(),
    };
  },

  async postgres(url) {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: url }).on('error', () => {});
    await client.connect();
    return {
      async read() {
        await new Promise((resolve) => setTimeout(resolve, REPORTS_WITHIN_MS));
        const { rows } = await client.query(`
          SELECT (SELECT sum(xact_commit) FROM pg_stat_database) AS statements,
            (SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections`);
        return { statements: Number(rows[0].statements), connections: Number(rows[0].connections) };
      },
      close: () => client.end(),
    };
  },
};

/** The CPU of all processes of that program which this one has started, itself or by another; NaN where there is no /proc. */
function cpuOf(program) {
  const all = new Map();
  try {
    for (const pid of readdirSync('/proc')) if (/^\d+$/.test(pid)) all.set(Number(pid), statOf(pid));
  } catch {
    return Number.NaN;
  }
  const isOurs = (pid) => pid === process.pid || (all.get(pid) !== undefined && isOurs(all.get(pid).parent));
  const ours = [...all].filter(([pid, stat]) => stat?.name === program && isOurs(pid));
  return ours.reduce((sum, [, { cpu }]) => sum + cpu, 0);
}

/** Undefined for a process that has ended meanwhile. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may hold spaces.
    const fields = text.slice(text.lastIndexOf(') ') + 2).split(' ');
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'));
    return { name, parent: Number(fields[1]), cpu: (Number(fields[11]) + Number(fields[12])) * TICK_US };
  } catch {
    return undefined;
  }
}
