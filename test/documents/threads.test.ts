/** Threads that read documents end in time, whatever is in them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkerThreads } from '../../src/ports/host/worker-threads.ts';

const NEVER = new AbortController().signal;
/** Does what its job says. */
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads');
if (workerData === 'loop') for (;;);
if (workerData === 'leave') process.exit(0);
if (workerData === 'wait') setInterval(() => {}, 1000);
else parentPort.postMessage(workerData);
`;

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'threads-'));
  file = join(folder, 'worker.cjs');
  writeFileSync(file, WORKER);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const threads = (ms: number) => new WorkerThreads(file, { threads: 1, waiting: 8, ms, megabytes: 64 });

describe('a thread', () => {
  it.each([
    ['never yields', 'loop'],
    ['waits for nothing', 'wait'],
  ])('[X-14] that %s is ended, and the next job runs', async (_, job) => {
    const pool = threads(500);
    const hanging = pool.run(job, NEVER).catch(({ failure }) => failure);
    const next = pool.run('next', NEVER);
    expect([await hanging, await next]).toEqual(['time', 'next']);
  });

  it('[X-14] that ends without a result has failed, and one that is left is ended', async () => {
    const pool = threads(60_000);
    expect(await pool.run('leave', NEVER).catch(({ failure }) => failure)).toBe('failed');
    const left = new AbortController();
    const hanging = pool.run('loop', left.signal);
    left.abort(new Error('left'));
    await expect(hanging).rejects.toThrow('left');
    expect(await pool.run('next', NEVER)).toBe('next');
  });
});
