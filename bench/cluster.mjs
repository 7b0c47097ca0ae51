/**
 * Responses in the background over Redis and PostgreSQL: `node bench/cluster.mjs [--only take-over,streams] [--quick]`. Each
 * node, the model and the clients are processes of their own; it stops by itself.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { appends } from './cluster/appends.mjs';
import { cost } from './cluster/cost.mjs';
import { streams } from './cluster/streams.mjs';
import { takeOver } from './cluster/take-over.mjs';
import { answerOf, processes } from './processes.mjs';
import { tableOf } from './table.mjs';

const SCENARIOS = { 'take-over': takeOver, appends, cost, streams };
// Ends the run, whatever goes wrong.
const LONGEST_MS = 15 * 60_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(SCENARIOS).join() },
    rounds: { type: 'string', default: '3' },
    tries: { type: 'string', default: '5' },
    databases: { type: 'string', default: 'redis,postgres' },
    quick: { type: 'boolean', default: false },
  },
});
const names = listOf('only', Object.keys(SCENARIOS));
const { start, stopAll } = processes({ pinned: false });
process.once('exit', stopAll);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
setTimeout(() => {
  console.error(`The run took longer than ${LONGEST_MS / 60_000} minutes.`);
  process.exit(1);
}, LONGEST_MS).unref();

const bench = {
  ...{ start, quick: values.quick, databases: listOf('databases', ['redis', 'postgres']) },
  ...{ rounds: values.quick ? 1 : countOf('rounds'), tries: countOf('tries') },
  upstreamPort: (await answerOf(start('upstream.mjs', [0]))).port,
  clients: start('load.mjs'),
  readers: start('cluster/readers.mjs'),
};
const [{ model = 'unknown' } = {}] = cpus();
const load = `load average ${loadavg()[0].toFixed(1)} before the run`;
console.log(
  `Node ${process.version}, ${cpus().length} × ${model}, ${load}, no process bound to a core; medians and ranges`,
);
for (const name of names) {
  const began = performance.now();
  console.log(`\n## ${name}: ${SCENARIOS[name].about}\n`);
  console.log(tableOf(await SCENARIOS[name].run(bench)));
  console.log(`\n${Math.round((performance.now() - began) / 1000)} s`);
}
if (values.quick) console.log('\nA quick run shows that the bench works; its figures mean nothing.');
process.exit();

function listOf(option, known) {
  const given = values[option].split(',');
  const unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return given;
  throw new TypeError(`--${option}: there is no '${unknown}'; known are ${known.join(', ')}`);
}

function countOf(option) {
  const count = Number(values[option]);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new TypeError(`--${option}: must be a whole number from 1, got '${values[option]}'`);
}
