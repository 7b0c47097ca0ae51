/** The host's side of a sandbox's process, over processes that do what no honest one does. */
import type { Launch } from '../../src/code-interpreter/launch.ts';
import { type SandboxProcess, sandboxProcess } from '../../src/code-interpreter/sandbox-process.ts';
import { NEVER, PATIENCE } from './support.ts';

const LIMITS = { memoryBytes: 2 ** 40, frameBytes: 10_000, startMs: PATIENCE };

/** A process that says it is ready, and runs the text whenever it is asked: `say` sends a line, `id` is the question's. */
function processOf(onAsk: string, first = "say({ type: 'ready' })"): SandboxProcess {
  const script = `
    const say = (frame) => process.stdout.write((typeof frame === 'string' ? frame : JSON.stringify(frame)) + '\\n');
    process.stdin.on('data', (chunk) => { const { id } = JSON.parse(chunk); ${onAsk} }).on('close', () => process.exit());
    ${first}`;
  const launch: Launch = { command: process.execPath, args: ['-e', script], diesWithHost: false, ownNetwork: false };
  return sandboxProcess(launch, LIMITS);
}

/** What comes of one question: the answer's fields, or the reason for which the process was lost. */
async function asked(onAsk: string): Promise<unknown> {
  const sandbox = processOf(onAsk);
  await sandbox.ready;
  try {
    return await sandbox.ask({ type: 'run' }, PATIENCE, NEVER);
  } catch (error) {
    return error instanceof Error && 'reason' in error ? [error.reason, error.message] : error;
  } finally {
    sandbox.end();
    await sandbox.gone;
  }
}

describe('sandboxProcess', () => {
  it.each([
    ["say({ id, value: 'true' })"],
    ["say({ id: id + 1, value: 'forged' }); say({ type: 'ready', value: 'forged' }); say({ id, value: 'true' })"],
    ["say('no json'); say('[1]'); say('null'); say(''); say({ id, value: 'true' }); say({ id, value: 'late' })"],
  ])(
    '[T-11] takes only the answer to its question: %s',
    async (onAsk) => {
      expect(await asked(onAsk)).toEqual({ id: 1, value: 'true' });
    },
    PATIENCE,
  );

  it.each([
    ["say('x'.repeat(10_001))", ['output', 'The code gave back more than is allowed; its container is gone.']],
    ['process.exit(3)', ['crash', 'The code crashed its container, which is gone (exit code 3).']],
    ["process.kill(process.pid, 'SIGSEGV')", ['crash', 'The code crashed its container, which is gone (SIGSEGV).']],
    [
      "process.stderr.write('x'.repeat(100_000) + 'FATAL ERROR: Reached heap limit Allocation failed', () => process.abort())",
      ['memory', 'The code took too much memory; its container is gone.'],
    ],
  ])(
    '[T-11] tells how it was lost: %s',
    async (onAsk, lost) => {
      expect(await asked(onAsk)).toEqual(lost);
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
    '[T-11] says why Python could not be loaded',
    async () => {
      const sandbox = processOf('', "say({ type: 'failed', message: 'no such file' })");
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
