/**
 * `npm run soak -- [--minutes 1] [--seed N]`: everything at once against one server process, in rounds; between two of them, when nothing runs,
 * its memory, handles, sockets and timers are read. It stops by itself, and fails if each request leaks something.
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { answerOf, processes } from '../processes.mjs';
import { startDatabase } from '../stores/openers.mjs';
import { soakClient } from './client.mjs';
import { JOBS } from './jobs.mjs';
import { PRODUCT_JOBS, RARE_JOBS } from './product-jobs.mjs';
import { verdictOn } from './verdict.mjs';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string', default: '1' } },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new TypeError(`--minutes must be positive, got '${values.minutes}'`);

const CLIENTS = 24;
/** The time between two samples, in milliseconds: at least sixty samples in a run. */
const ROUND_MS = Math.min(10_000, (minutes * 60_000) / 90);
/** The pause before a sample, in milliseconds, in which closed connections end. */
const REST_MS = 300;
/** The part of the jobs that are over what stands beside the models, and the part of these that are rare. */
const PRODUCT_SHARE = 0.3;
const RARE_SHARE = 0.01;
/** How often the servers of the stores are restarted in a run. */
const RESTARTS = 3;

const { start, stopAll } = processes({ pinned: false });
process.once('exit', stopAll);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
// Ends the run, whatever goes wrong.
setTimeout(() => process.exit(1), (minutes + 5) * 60_000).unref();

const databases = { redis: await found('redis'), postgres: await found('postgres') };
const [model, mcp] = await Promise.all([answerOf(start('upstream.mjs')), answerOf(start('servers/mcp.mjs'))]);
const child = start('soak/server.mjs', [
  model.port,
  mcp.port,
  databases.redis?.url ?? '',
  databases.postgres?.url ?? '',
]);
const { port, mounts } = await answerOf(child);
const client = soakClient(port);
const random = randomFrom(Number(values.seed));
const unexpected = new Map();
const done = new Map();
const samples = [];
/** The mounts whose database is down, or has just been restarted. */
const away = new Set();

console.log(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}; ${mounts.join(', ')}; ${minutes} minutes, ${CLIENTS} clients`,
);
const began = performance.now();
const endAt = began + minutes * 60_000;
let restarts = 0;
while (performance.now() < endAt) {
  const part = (performance.now() - began) / (endAt - began);
  const isRestart = part > (restarts + 1) / (RESTARTS + 1);
  if (isRestart) restarts += 1;
  await Promise.all([...Array.from({ length: CLIENTS }, work), ...(isRestart ? [restartDatabases()] : [])]);
  await sleep(REST_MS);
  const sample = await answerOf(child, 'sample');
  for (const fault of sample.faults) complain(fault);
  samples.push({ ...sample, requests: client.counted.requests });
}
report();
client.close();
await Promise.all(Object.values(databases).map((database) => database?.close()));
process.exit();

async function found(name) {
  return startDatabase(name).catch((error) => {
    console.log(`Without ${name}: ${error.message}`);
    return undefined;
  });
}

async function work() {
  for (const until = performance.now() + ROUND_MS; performance.now() < until; ) {
    const isProduct = random() < PRODUCT_SHARE;
    const jobs = isProduct ? (random() < RARE_SHARE ? RARE_JOBS : PRODUCT_JOBS) : JOBS;
    const [name, job] = pick(Object.entries(jobs));
    const mount = isProduct ? 'product' : pick(mounts);
    const tools = `/${pick(['memory', 'sqlite', 'stdio'])}/v1`;
    count(done, name);
    await job({ ...client, base: `/${mount}/v1`, tools }).catch((error) => {
      // While its database is down, a request fails or its stream ends.
      if (!away.has(mount)) complain(`${name} at ${mount}: ${error.message}`);
    });
  }
}

async function restartDatabases() {
  for (const [name, database] of Object.entries(databases)) {
    if (!database) continue;
    away.add(name);
    await database.stop();
    await sleep(300);
    await database.start();
    // Clients of Redis reconnect after a while.
    await sleep(700);
  }
  // Requests that began meanwhile end within the round.
  setTimeout(() => away.clear(), 3000);
}

/** Counts what is wrong, and says it at once: a long run ends late. */
function complain(what) {
  if (!unexpected.has(what)) console.error(`${new Date().toLocaleTimeString('en')}: ${what}`);
  count(unexpected, what);
}

function report() {
  const { requests, events } = client.counted;
  const { slopes, counts, reasons } = verdictOn(samples);
  const restarted = `the databases restarted ${restarts} times`;
  console.log(`\n${requests} requests, ${events} events, ${samples.length} samples, ${restarted}`);
  console.log(`Jobs: ${[...done].map(([name, times]) => `${name} ${times}`).join(', ')}\n`);
  console.log('| after the warm-up | from | to | slope, KB for 1,000 requests |\n| --- | --- | --- | --- |');
  for (const { name, from, to, slope, error } of slopes)
    console.log(`| ${name}, KB | ${from.toFixed(0)} | ${to.toFixed(0)} | ${slope.toFixed(2)} ± ${error.toFixed(2)} |`);
  for (const { name, from, to } of counts) console.log(`| ${name} | ${from} | ${to} | |`);
  for (const [what, times] of unexpected) reasons.push(`${times} × ${what}`);
  console.log(reasons.length === 0 ? '\nNothing is kept.' : `\n${reasons.join('\n')}`);
  if (reasons.length > 0) process.exitCode = 1;
}

function count(map, name) {
  map.set(name, (map.get(name) ?? 0) + 1);
}

function pick(list) {
  return list[Math.floor(random() * list.length)];
}

/** A small generator, so that a seed repeats a mix (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
