/**
 * Measures what a deployment needs: `npm run bench:sizing -- [--only streams,tenants,stored,conversations,agents] [--store
 * memory,SQLite,Redis,PostgreSQL] [--quick]`. Each part stops by itself and
 * prints a table with the slope of each figure.
 */
import { spawnSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { processes } from './processes.mjs';
import { agents } from './sizing/agents.mjs';
import { conversations } from './sizing/conversations.mjs';
import { stored } from './sizing/stored.mjs';
import { STORES } from './sizing/stores.mjs';
import { streams } from './sizing/streams.mjs';
import { tenants } from './sizing/tenants.mjs';

const PARTS = { streams, tenants, stored, conversations, agents };
/** Each stream is a socket of the client and one of the model server. */
const FILES = 65_536;

const { values } = parseArgs({
  options: { only: { type: 'string' }, store: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const names = namesIn('only', PARTS);
const stores = namesIn('store', STORES);
if (process.env.SIZING_FILES === undefined) process.exit(withMoreFiles());

const { start, stopAll } = processes({ pinned: false });
process.once('exit', stopAll);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
// Ends the run, whatever goes wrong.
setTimeout(() => process.exit(1), 45 * 60_000).unref();

const [{ model = 'unknown' } = {}] = cpus();
const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
console.log(
  `Node ${process.version}, ${cpus().length} × ${model}, ${memory}, load average ${loadavg()[0].toFixed(1)} before the run`,
);
for (const name of names) {
  const began = performance.now();
  console.log(`\n## ${name}: ${PARTS[name].about}\n`);
  console.log(
    await PARTS[name].run({ start, stores, scaled: (count) => (values.quick ? Math.ceil(count / 20) : count) }),
  );
  console.log(`\n${Math.round((performance.now() - began) / 1000)} s`);
}
if (values.quick) console.log('\nA quick run shows that the bench works; its figures mean nothing.');
process.exit();

/** The names that the option lists, or all of them. */
function namesIn(option, known) {
  const chosen = values[option]?.split(',') ?? Object.keys(known);
  const unknown = chosen.find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return chosen;
  throw new TypeError(`--${option}: there is no '${unknown}'; known are ${Object.keys(known).join(', ')}`);
}

/** Runs this program again with as many open files as the machine allows: a process cannot raise its own limit. */
function withMoreFiles() {
  const script = `ulimit -n ${FILES} 2>/dev/null; SIZING_FILES=$(ulimit -n) exec "$0" "$@"`;
  const args = ['--expose-gc', fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  return spawnSync('sh', ['-c', script, process.execPath, ...args], { stdio: 'inherit' }).status ?? 1;
}
