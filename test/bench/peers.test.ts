/** Peers of the bench: started where they are, and reported with how to install where not. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPeers } from '../../bench/peers.mjs';

const root = join(import.meta.dirname, '../..');
const runs = promisify(execFile);

/** A peer that answers every request. */
const answering = {
  installed: 'package.json',
  install: [],
  run: (_model: string, port: number) => ({
    program: [
      process.execPath,
      '-e',
      `require('http').createServer((q, r) => r.end('hi')).listen(${port}, '127.0.0.1')`,
    ],
    env: {},
  }),
};
const ending = { ...answering, run: () => ({ program: [process.execPath, '-e', 'process.exit(1)'], env: {} }) };
const absent = { ...answering, installed: 'not-here', install: ['make it'] };

describe('the peers of the bench', () => {
  it('[Q-04] are started, and those that cannot be are named with what to do', async () => {
    const { peers, notes } = await startPeers(1, { folder: root, peers: { answering, ending, absent } });
    for (const { pid } of peers) process.kill(pid, 'SIGKILL');
    expect([peers, notes]).toEqual([
      [{ name: 'answering', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1$/), pid: expect.any(Number) }],
      ['absent is not installed. To install it:\n  make it', 'ending ended when it was started.'],
    ]);
  });
});

describe('node bench/sizing.mjs', () => {
  it('[Q-04] refuses a part that it does not know', async () => {
    const error = await runs(process.execPath, ['bench/sizing.mjs', '--only', 'strems'], { cwd: root }).catch(String);
    expect(String(error)).toContain(
      "--only: there is no 'strems'; known are streams, tenants, stored, conversations, agents",
    );
  });
});

describe('node bench/soak/run.mjs', () => {
  it('[Q-04] refuses a time that is none', async () => {
    const error = await runs(process.execPath, ['bench/soak/run.mjs', '--minutes', 'x'], { cwd: root }).catch(String);
    expect(String(error)).toContain("--minutes must be positive, got 'x'");
  });
});
