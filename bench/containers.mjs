/**
 * What containers cost: 50 idle ones as records and as processes, a command beside one that is spawned without a sandbox, and 1,000 files in
 * one container. `node bench/containers.mjs [--runtimes bubblewrap,pyodide] [--image python:3.13-slim] [--program docker] [--idle 50]
 * [--files 1000] [--commands 200] [--minutes 10]`, over the build, on Linux. It prints a table for each runtime, and stops after the minutes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { containerRuntime, containers, pyodideRuntime } from '../dist/esm/tools/code-interpreter/index.js';
import { bubblewrapRuntime } from '../dist/esm/tools/shell/index.js';

const { values } = parseArgs({
  options: {
    runtimes: { type: 'string', default: 'bubblewrap,pyodide' },
    image: { type: 'string' },
    program: { type: 'string', default: 'docker' },
    idle: { type: 'string', default: '50' },
    files: { type: 'string', default: '1000' },
    commands: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '10' },
  },
});
const [IDLE, FILES, COMMANDS] = [values.idle, values.files, values.commands].map(Number);
/** A tenant leaves one to the others. */
const PLACES = IDLE + 1;
const FILE = Buffer.alloc(1024, 'x');
const MIB = 2 ** 20;
const stop = AbortSignal.timeout(Number(values.minutes) * 60_000);

/** Each with room for all of its containers at once, and for all files of one. */
const RUNTIMES = {
  bubblewrap: () => bubblewrapRuntime({ maxContainers: PLACES, limits: { files: FILES } }),
  pyodide: () => pyodideRuntime({ warm: 0, maxContainers: PLACES, limits: { files: FILES } }),
  container: () =>
    containerRuntime({
      ...{ image: values.image, program: values.program },
      ...{ warm: 0, maxContainers: PLACES, limits: { files: FILES } },
    }),
};

const clock = () => performance.now();
const sorted = (numbers) => numbers.toSorted((one, other) => one - other);
const ms = (number) => `${number < 10 ? number.toFixed(2) : number.toFixed(0)} ms`;
const spread = (numbers) => {
  const all = sorted(numbers);
  return [ms(all[Math.floor(all.length / 2)]), `${ms(all[0])} to ${ms(all.at(-1))}, ${all.length} times`];
};

async function timed(work) {
  stop.throwIfAborted();
  const start = clock();
  await work();
  return clock() - start;
}

/** MiB of all processes that this one has started, each page counted once. */
function processMemory() {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      parents.set(Number(pid), Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]));
    } catch {}
  const isOurs = (pid) =>
    pid !== process.pid && (parents.get(pid) === process.pid || (pid > 1 && isOurs(parents.get(pid) ?? 1)));
  let kib = 0;
  for (const pid of [...parents.keys()].filter((pid) => isOurs(pid)))
    try {
      kib += Number(/^Pss:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]);
    } catch {}
  return kib / 1024;
}

async function* content() {
  yield FILE;
}

/** Something that does nothing. */
const runIn = (kept, key) =>
  kept.runtime.runsCommands ? kept.exec(key, { command: 'true' }, [], stop) : kept.run(key, '1', [], stop);

/** As clients make them, before anything runs there; then with a process each. */
async function idle(kept, rows) {
  const keys = [];
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const making = await timed(async () => {
    for (let at = 0; at < IDLE; at += 1) {
      const key = await kept.create('bench', { name: `idle ${at}` });
      await kept.putFile(key, { name: 'a.txt', source: 'user', content: content() });
      keys.push(key);
    }
  });
  globalThis.gc?.();
  rows.push([
    `${IDLE} containers with a file, none used`,
    ms(making),
    `${((process.memoryUsage().rss - before) / MIB).toFixed(1)} MiB of this process`,
  ]);
  const memory = processMemory();
  const starts = [];
  for (const key of keys) starts.push(await timed(() => runIn(kept, key)));
  rows.push(['the first run in each, which starts its process', ...spread(starts)]);
  const used = processMemory() - memory;
  const { running } = await kept.usage('bench');
  rows.push([`${running} idle processes`, `${used.toFixed(0)} MiB`, `${(used / running).toFixed(1)} MiB each`]);
  for (const key of keys) await kept.remove(key);
}

async function plain(command) {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const pipe of [child.stdout, child.stderr]) pipe.resume();
  await once(child, 'close');
}

/** In turns, so that both see the same machine. */
async function commands(kept, rows) {
  const key = await kept.create('bench', { name: 'commands' });
  await runIn(kept, key);
  const [inside, outside] = [[], []];
  for (let at = 0; at < COMMANDS; at += 1) {
    inside.push(await timed(() => runIn(kept, key)));
    if (kept.runtime.runsCommands) outside.push(await timed(() => plain('true')));
  }
  rows.push([kept.runtime.runsCommands ? '`true`' : '`1`', ...spread(inside)]);
  if (outside.length > 0) rows.push(['`sh -c true`, spawned without a container', ...spread(outside)]);
  await kept.remove(key);
}

async function files(kept, rows) {
  const key = await kept.create('bench', { name: 'files' });
  const puts = [];
  for (let at = 0; at < FILES; at += 1)
    puts.push(await timed(() => kept.putFile(key, { name: `in/${at}.txt`, source: 'user', content: content() })));
  rows.push([`an upload, of ${FILES} of 1 KiB`, ...spread(puts)]);
  rows.push([
    `the first run with ${FILES} files`,
    ms(await timed(() => runIn(kept, key))),
    'starts a process, and brings them',
  ]);
  rows.push([`the next run with ${FILES} files`, ms(await timed(() => runIn(kept, key))), 'looks for changes']);
  const script = kept.runtime.runsCommands
    ? () => kept.exec(key, { command: 'for f in in/*; do echo y >> $f; done' }, [], stop)
    : () => kept.run(key, `for n in range(${FILES}): open(f'in/{n}.txt', 'a').write('y')`, [], stop);
  let written = 0;
  const time = await timed(async () => {
    written = (await script()).written.length;
  });
  rows.push([`a run that changes ${FILES} files`, ms(time), `${written} of them kept`]);
  await kept.remove(key);
}

console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0].toFixed(1)}\n`,
);
const names = values.image ? [...values.runtimes.split(','), 'container'] : values.runtimes.split(',');
for (const name of names) {
  const runtime = RUNTIMES[name]?.();
  if (!runtime) throw new Error(`There is no runtime '${name}': ${Object.keys(RUNTIMES).join(', ')}`);
  const room = { files: FILES, containers: IDLE + 2, bytes: 4 * FILES * FILE.length + IDLE * FILE.length };
  const kept = containers({ runtime, max: PLACES, maxPerScope: IDLE, quota: room });
  const rows = [];
  try {
    for (const part of [idle, commands, files]) await part(kept, rows);
  } catch (error) {
    if (!stop.aborted) throw error;
    rows.push(['stopped', `after ${values.minutes} minutes`, '']);
  } finally {
    await kept.close();
    await runtime.close();
    console.log(
      [`| ${name} | | |`, '| --- | --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`), ''].join('\n'),
    );
  }
}
console.log(`The load is ${loadavg()[0].toFixed(1)} now.`);
process.exit(0);
