/**
 * Everything side by side in one run on this machine: `node bench/run.mjs [--goals] [--only burst,short] [--rounds 5] [--quick] [--peers]`.
 * Each server, the model and the clients are processes of their own; it stops by itself.
 */
import { cpus, loadavg } from 'node:os';
import { startBench } from './bench.mjs';
import { hasGoals, verdict } from './goals.mjs';
import { settingsFrom } from './options.mjs';
import { freePort, startPeers } from './peers.mjs';
import { canPin, processes } from './processes.mjs';
import { SCENARIOS } from './scenarios/all.mjs';
import { tableOf } from './table.mjs';

// Ends the run, whatever goes wrong.
const LONGEST_MS = 45 * 60_000;

const settings = settingsFrom(process.argv.slice(2), SCENARIOS);
const pinned = settings.pin && canPin();
const { start, stopAll } = processes({ pinned, nodeFlags: settings.nodeFlags });
process.once('exit', stopAll);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
setTimeout(() => {
  console.error(`The run took longer than ${LONGEST_MS / 60_000} minutes.`);
  process.exit(1);
}, LONGEST_MS).unref();

const upstreamPort = settings.upstreamPort || (settings.startsPeers ? await freePort() : 0);
const { peers, notes } = settings.startsPeers ? await startPeers(upstreamPort) : { peers: [], notes: [] };
const bench = await startBench({ start, ...settings, upstreamPort, peers: [...settings.peers, ...peers] });
const reports = new Map();
console.log(headline());
for (const note of notes) console.log(`\n${note}`);
for (const name of settings.names) {
  console.log(`\n## ${name}: ${SCENARIOS[name].about}\n`);
  await measure(name).catch((error) => {
    // The other scenarios still run.
    console.log(`Not measured: ${error.message}`);
    process.exitCode = 1;
  });
}
if (hasGoals(reports)) console.log(`\n## Goals\n\n${verdict(reports)}`);
if (settings.quick) console.log('\nA quick run shows that the bench works; its figures mean nothing.');
process.exit();

async function measure(name) {
  const began = performance.now();
  const report = await SCENARIOS[name].run(bench);
  reports.set(name, report);
  const seconds = Math.round((performance.now() - began) / 1000);
  const counted = report.rounds === undefined ? '' : `, rounds: ${report.rounds}`;
  console.log(`${tableOf(report)}\n\n${seconds} s${counted}`);
}

function headline() {
  const [{ model = 'unknown' } = {}] = cpus();
  const where = pinned ? 'the server under test on a core of its own' : 'no process bound to a core';
  const flags = settings.nodeFlags.map((flag) => ` ${flag}`).join('');
  const load = `load average ${loadavg()[0].toFixed(1)} before the run`;
  return `Node ${process.version}${flags}, ${cpus().length} × ${model}, ${load}, ${where}; medians and ranges of at most ${settings.rounds} rounds`;
}
