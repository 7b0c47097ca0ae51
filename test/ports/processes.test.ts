/** Processes that read documents and pages end in time, whatever is in them, and nothing in them ends the host. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { JobProcesses } from '../../src/ports/processes/job-processes.ts';
import { isRunning, until } from '../support/mcp-client.ts';
import { describeWhere } from '../support/skipping.ts';

const run = promisify(execFile);
const NEVER = { tenant: 'one', signal: new AbortController().signal };
const BUILT = join(import.meta.dirname, '../../dist/cjs');
/** Does what its job says. */
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads');
if (workerData === 'loop') for (;;);
if (workerData === 'leave') process.exit(0);
if (workerData === 'fail') throw new Error('failed');
if (workerData === 'hoard') for (const hoard = new WeakMap(), keys = []; ; hoard.set(keys.at(-1), 1)) keys.push({});
if (workerData === 'wait') setInterval(() => {}, 1000);
else if (workerData === 'environment') parentPort.postMessage(Object.keys(process.env));
else if (workerData === 'pid') parentPort.postMessage(process.pid);
else parentPort.postMessage(workerData);
`;
/** A host whose only job never ends; it says which process does it. */
const host = (file: string) => `
const { fork } = require('node:child_process');
const child = fork(${JSON.stringify(join(BUILT, 'ports/processes/job-process.js'))}, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
child.send({ file: ${JSON.stringify(file)}, data: 'loop', megabytes: 64 }, () => console.log(child.pid));
`;

/** A host that has no file descriptors left, and then has. */
const CROWDED = `
const { closeSync, openSync } = require('node:fs');
const reader = require(${JSON.stringify(join(BUILT, 'tools/documents/index.js'))}).documentText();
const bytes = Buffer.from('<html><p>Hello.</p></html>');
const read = () => reader.read({ filename: 'a.html', bytes: bytes.length, content: async () => [bytes] }, new AbortController().signal).catch(({ code }) => code);
const open = [];
read().then(async (before) => {
  try { for (;;) open.push(openSync('/dev/null')); } catch {}
  const crowded = await read();
  for (const descriptor of open) closeSync(descriptor);
  console.log(JSON.stringify([before, crowded, await read()]));
});
`;

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'processes-'));
  file = join(folder, 'worker.cjs');
  writeFileSync(file, WORKER);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const processes = (ms: number) => new JobProcesses(file, { processes: 1, waiting: 8, ms, megabytes: 64 });

describeWhere(existsSync(BUILT), 'needs `npm run build`')('a process', () => {
  it.each([
    ['never yields', 'loop'],
    ['waits for nothing', 'wait'],
  ])('[X-14] that %s is ended, and the next job runs', async (_, job) => {
    const pool = processes(3000);
    const hanging = pool.run(job, NEVER).catch(({ failure }) => failure);
    const next = pool.run('next', NEVER);
    expect([await hanging, await next]).toEqual(['time', 'next']);
  });

  it('[G-07] [G-15] that are a greedy tenant’s leave one to the others, and half of the queue', async () => {
    const pool = new JobProcesses(file, { processes: 2, waiting: 8, ms: 60_000, megabytes: 64 });
    const stop = new AbortController();
    const greedy = { tenant: 'greedy', signal: stop.signal };
    const endings = Array.from({ length: 20 }, () =>
      pool.run('wait', greedy).catch(({ failure, message }) => failure ?? message),
    );
    const others = await Promise.all(
      ['a', 'b', 'c'].map((tenant) => pool.run(tenant, { tenant, signal: NEVER.signal })),
    );
    stop.abort(new Error('stopped'));
    const failures = await Promise.all(endings);
    expect([others, failures.filter((each) => each === 'busy').length]).toEqual([['a', 'b', 'c'], 15]);
  });

  it('[X-14] takes jobs of bytes and broken text as they are, one after the other', async () => {
    const pool = processes(60_000);
    const jobs = [{ bytes: new Uint8Array([0, 255]) }, '\ud800', 'x'.repeat(5_000_000)];
    const results = await Promise.all(jobs.map((job) => pool.run(job, NEVER)));
    expect(results).toEqual(jobs);
  });

  it('[X-14] that ends without a result has failed, and one that is left is ended', async () => {
    const pool = processes(60_000);
    for (const job of ['leave', 'fail']) {
      expect(await pool.run(job, NEVER).catch(({ failure }) => failure)).toBe('failed');
    }
    const left = new AbortController();
    const hanging = pool.run('loop', { tenant: 'one', signal: left.signal });
    left.abort(new Error('left'));
    await expect(hanging).rejects.toThrow('left');
    expect(await pool.run('next', NEVER)).toBe('next');
  });

  it('[X-14] that fills its memory is ended alone', async () => {
    const pool = processes(60_000);
    expect(await pool.run('hoard', NEVER).catch(({ failure }) => failure)).toBe('memory');
    expect(await pool.run('next', NEVER)).toBe('next');
  });

  it('[X-14] is gone after its job, and knows nothing of the environment', async () => {
    process.env.A_SECRET_KEY = 'secret';
    const pool = processes(60_000);
    const names = await pool.run<string[]>('environment', NEVER);
    delete process.env.A_SECRET_KEY;
    expect([names.includes('PATH'), names.includes('A_SECRET_KEY')]).toEqual([true, false]);
    const pid = await pool.run<number>('pid', NEVER);
    await until(() => !isRunning(pid));
  });

  it('[X-14] is ended when the pool is closed', async () => {
    const pool = processes(60_000);
    const hanging = pool.run('loop', NEVER).catch(({ failure }) => failure);
    await new Promise((resolve) => setTimeout(resolve, 10));
    await pool.close();
    expect(await hanging).toBe('failed');
    expect(await pool.run('next', NEVER).catch(({ failure }) => failure)).toBe('closed');
  });

  it('[X-14] ends itself when its host is killed', async () => {
    const killed = spawn(process.execPath, ['-e', host(file)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(killed.stdout, 'data');
    const pid = Number(line);
    expect(isRunning(pid)).toBe(true);
    killed.kill('SIGKILL');
    await until(() => !isRunning(pid));
  });

  it('[X-14] that cannot be started is an error of its job alone', async () => {
    const { stdout } = await run('/bin/sh', ['-c', 'ulimit -n 64; exec "$0" -e "$1"', process.execPath, CROWDED]);
    expect(JSON.parse(stdout)).toEqual(['Hello.', 'EMFILE', 'Hello.']);
  });
});
