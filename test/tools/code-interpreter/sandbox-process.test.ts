/** The host's side of a sandbox's process, over processes that do what no honest one does. */

import type { Launch } from '../../../src/tools/code-interpreter/sandbox/launch.ts';
import { type SandboxProcess, sandboxProcess } from '../../../src/tools/code-interpreter/sandbox/sandbox-process.ts';
import { KINDS } from '../../../src/tools/code-interpreter/shared/kinds.ts';
import { NEVER, PATIENCE } from './support.ts';

const LIMITS = { memoryBytes: 2 ** 40, answer: { bytes: 20_000, textBytes: 10_000, files: 2 }, startMs: PATIENCE };

/** A process that says it is ready, and runs the text whenever it is asked: `say` sends a frame, `id` is the question's. */
function processOf(onAsk: string, first = "say('done', 0)"): SandboxProcess {
  const script = `
    const kinds = ${JSON.stringify(KINDS)};
    const say = (kind, id, text = '', length = Buffer.byteLength(text)) => {
      const frame = Buffer.alloc(9 + Buffer.byteLength(text));
      frame[0] = kinds.indexOf(kind);
      frame.writeUInt32BE(id, 1);
      frame.writeUInt32BE(length, 5);
      frame.write(text, 9);
      process.stdout.write(frame);
    };
    const tell = (id, text) => { say('result', id, text); say('done', id); };
    process.stdin.on('data', (chunk) => { const id = chunk.readUInt32BE(1); ${onAsk} }).on('close', () => process.exit());
    ${first}`;
  const launch: Launch = { command: process.execPath, args: ['-e', script], diesWithHost: false, ownNetwork: false };
  return sandboxProcess(launch, LIMITS);
}

/** What comes of one question: the answer's fields, or the reason for which the process was lost. */
async function requested(onAsk: string): Promise<unknown> {
  const sandbox = processOf(onAsk);
  await sandbox.ready;
  try {
    return await sandbox.request([], PATIENCE, NEVER);
  } catch (error) {
    return error instanceof Error && 'reason' in error ? [error.reason, error.message] : error;
  } finally {
    sandbox.end();
    await sandbox.gone;
  }
}

const TOO_MUCH = ['output', 'The code gave back more than is allowed; its container is gone.'];

describe('sandboxProcess', () => {
  it.each([
    ["tell(id, 'true')"],
    ["tell(id + 1, 'forged'); tell(0, 'forged'); tell(id, 'true')"],
    ["say('data', id, 'of no file'); tell(id, 'true'); tell(id, 'late')"],
  ])(
    '[T-11] takes only the answer to its question: %s',
    async (onAsk) => {
      expect(await requested(onAsk)).toEqual({ texts: { result: 'true' }, files: [] });
    },
    PATIENCE,
  );

  it.each([
    ["say('result', id, 'x'.repeat(10_001))", TOO_MUCH],
    ["for (let n = 0; n < 3; n += 1) say('name', id, 'x')", TOO_MUCH],
    ["for (let n = 0; n < 1000; n += 1) say('data', id)", TOO_MUCH],
    ["for (let n = 0; n < 1000; n += 1) say('result', id + 1)", TOO_MUCH],
    ["say('result', id, 'x', 4_000_000_000)", TOO_MUCH],
    ['process.stdout.write(\'{"id":1,"files":[\' + \'[],\'.repeat(5_500_000))', TOO_MUCH],
    ['process.exit(3)', ['crash', 'The code crashed its container, which is gone (exit code 3).']],
    ["process.kill(process.pid, 'SIGSEGV')", ['crash', 'The code crashed its container, which is gone (SIGSEGV).']],
    [
      "process.stderr.write('x'.repeat(100_000) + 'FATAL ERROR: Reached heap limit Allocation failed', () => process.abort())",
      ['memory', 'The code took too much memory; its container is gone.'],
    ],
  ])(
    '[T-11] reports how it was lost: %s',
    async (onAsk, lost) => {
      expect(await requested(onAsk)).toEqual(lost);
    },
    PATIENCE,
  );

  it(
    '[T-11] keeps the last words of the process for the logs',
    async () => {
      const sandbox = processOf('', "process.stderr.write('no such flag\\n', () => process.exit(9))");
      await expect(sandbox.ready).rejects.toMatchObject({ reason: 'crash', cause: 'no such flag' });
      await sandbox.gone;
    },
    PATIENCE,
  );

  it(
    '[T-11] reports why Python could not be loaded',
    async () => {
      const sandbox = processOf('', "say('refused', 0, 'no such file'); say('done', 0)");
      await expect(sandbox.ready).rejects.toThrow('Python could not be loaded: no such file');
      sandbox.end();
      await sandbox.gone;
    },
    PATIENCE,
  );

  it('[T-11] is lost at once where it cannot be started', async () => {
    const launch = { command: '/nowhere/node', args: [], diesWithHost: false, ownNetwork: false };
    const sandbox = sandboxProcess(launch, LIMITS);
    await expect(sandbox.ready).rejects.toThrow('ENOENT');
    await sandbox.gone;
  });
});
