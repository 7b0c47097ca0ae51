/** The host of containers as a process: it stays small, ends when it wants to, and takes its containers along however it ends. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { itWhere } from '../../support/skipping.ts';
import { isolation } from './outer.ts';
import { lives, PATIENCE, sandboxesOf, until } from './support.ts';

const linux = itWhere(process.platform === 'linux', 'only Linux has it');

async function withHost(body: (host: ChildProcess) => Promise<void>): Promise<void> {
  const execArgv = ['--expose-gc'];
  const host = fork(join(import.meta.dirname, 'host-app.mjs'), [isolation], { execArgv });
  try {
    await body(host);
  } finally {
    host.kill('SIGKILL');
  }
}

async function reported(host: ChildProcess, ...task: readonly (string | number)[]) {
  host.send([...task]);
  const [answer] = await once(host, 'message');
  return answer;
}

describe('a host of containers', () => {
  linux(
    '[T-11] keeps one process and its memory flat over two hundred runs',
    () =>
      withHost(async (host) => {
        const before = await reported(host, 'runs', 20);
        const after = await reported(host, 'runs', 200);
        expect([after.answers, sandboxesOf(host.pid).length]).toEqual([['2'], 1]);
        expect(after.heap - before.heap).toBeLessThan(2 * 1024 * 1024);
      }),
    PATIENCE,
  );

  linux(
    '[T-11] continues where a container cannot be started for lack of file descriptors',
    () =>
      withHost(async (host) => {
        const { refused, answer } = await reported(host, 'crowded');
        expect([refused, answer]).toEqual([expect.stringContaining('no file descriptors left'), '2']);
      }),
    PATIENCE,
  );

  linux.each(['endless', 'idle'])(
    '[T-11] leaves no process where it is killed while its container is %s',
    (task) =>
      withHost(async (host) => {
        await reported(host, task);
        const [pid = 0] = sandboxesOf(host.pid);
        expect(lives(pid)).toBe(true);
        host.kill('SIGKILL');
        await until(() => !lives(pid));
      }),
    PATIENCE,
  );

  linux(
    '[T-11] comes to the end of closing, with nothing else left to do',
    () =>
      withHost(async (host) => {
        const exited = once(host, 'exit');
        host.send(['close']);
        expect((await exited)[0]).toBe(7);
      }),
    PATIENCE,
  );

  linux(
    '[T-11] ends by itself where containers are idle, and leaves no process',
    () =>
      withHost(async (host) => {
        const exited = once(host, 'exit');
        host.send(['leave']);
        await until(() => sandboxesOf(host.pid).length === 1 || host.exitCode !== null);
        const pids = sandboxesOf(host.pid);
        expect((await exited)[0]).toBe(0);
        await until(() => !pids.some(lives));
      }),
    PATIENCE,
  );
});
