/** A turn that is over goes with the next collection of young objects: nothing that is old and garbage leads to it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const SUPPORT = join(import.meta.dirname, '../../support');

it('[Q-06] tool rounds that are over do not wait for a full garbage collection', async () => {
  const flags = ['--expose-gc', '--no-allocation-site-pretenuring', '--import', join(SUPPORT, 'memory-hooks.mjs')];
  const child = fork(join(SUPPORT, 'young-rounds.ts'), { execArgv: flags });
  const [bytesOfTurn] = await once(child, 'message');
  child.kill();
  // Each leads to more than 4 KB.
  expect(bytesOfTurn).toBeLessThan(2000);
});
