/** Signals to children that were never started. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { killChild } from '../../src/ports/processes/kill-child.ts';

describe('a signal', () => {
  it('[X-14] ends a child', async () => {
    const child = execFile(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    killChild(child, 'SIGKILL');
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  });

  it('[X-14] is not sent for a child that was never started', async () => {
    const child = spawn('/no/such/program');
    const kill = jest.spyOn(child, 'kill');
    killChild(child, 'SIGWINCH');
    expect((await once(child, 'error'))[0].code).toBe('ENOENT');
    expect(kill).not.toHaveBeenCalled();
  });
});
