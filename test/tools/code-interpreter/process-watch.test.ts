/** The files of a sandbox that is being built. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watchProcesses } from '../../../src/tools/code-interpreter/sandbox/process-watch.ts';

const UNLIMITED = { memoryBytes: Number.POSITIVE_INFINITY, threads: Number.POSITIVE_INFINITY };

it('the files of the host are not those of a process whose sandbox is not built yet', async () => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const excesses: string[] = [];
  let looks = 0;
  const hasLooked = new Promise<void>((resolve) => {
    const pids = () => {
      looks += 1;
      if (looks > 2) resolve();
      return [Number(child.pid)];
    };
    const stop = watchProcesses(pids, { ...UNLIMITED, inodes: { path: '/', most: 1 } }, (what) => {
      excesses.push(what);
      resolve();
    });
    child.once('exit', stop);
  });
  await hasLooked;
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(excesses).toEqual([]);
});
