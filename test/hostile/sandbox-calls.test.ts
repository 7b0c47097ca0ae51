/** The filter of system calls around a sandboxed process, tested by programs in plain machine code. */
import { sandboxProcess } from '../../src/tools/code-interpreter/sandbox/sandbox-process.ts';
import { startChild } from '../../src/tools/code-interpreter/sandbox/start-child.ts';
import { describeWhere } from '../support/skipping.ts';
import { describeSandboxed, type Extra, outcomeOf, outerLaunch, scriptFile } from '../tools/code-interpreter/outer.ts';
import { PATIENCE } from '../tools/code-interpreter/support.ts';
import { callsProgram, oldDoorProgram, type SystemCall, threadsProgram } from './elf.ts';
import { DENIED_CALLS } from './system-calls.ts';
import { tally } from './tally.ts';

const { tried } = tally('the filter of system calls');

const machineCode = process.arch === 'x64' ? describeSandboxed : describeWhere(false, 'the program is one of x64');

machineCode('threads of a program of its own', () => {
  it(
    '[F-01] end the program if they are too many, though they take neither memory nor descriptors',
    async () => {
      const { file, remove } = scriptFile(threadsProgram(5000), 0o755);
      const limits = { memoryBytes: 2 ** 40, answer: { bytes: 1000, textBytes: 1000, files: 1 }, startMs: PATIENCE };
      const sandbox = sandboxProcess(await outerLaunch(['/threads'], [[file, '/threads']]), limits);
      await expect(sandbox.ready).rejects.toThrow('The code started more than 64 threads; its container is gone.');
      await sandbox.gone;
      remove();
      tried('ways to take too much');
    },
    PATIENCE,
  );
});

machineCode('the filter of system calls', () => {
  /** The errors of the calls, in the sandbox or in one without its filter. */
  async function errorsOf(calls: readonly SystemCall[], filtered: boolean): Promise<readonly number[]> {
    const { file, remove } = scriptFile(callsProgram(calls), 0o755);
    const extra: Extra = [file, '/calls'];
    try {
      const launch = await outerLaunch(['/calls'], [extra]);
      const everything = Uint8Array.from([0x06, 0, 0, 0, 0, 0, 0xff, 0x7f]);
      const { stdout } = await outcomeOf(startChild(filtered ? launch : { ...launch, filter: everything }));
      return [...stdout];
    } finally {
      remove();
    }
  }

  it(
    '[F-01] denies each call that Node does not need and that the kernel would otherwise allow',
    async () => {
      const calls = DENIED_CALLS.map(([, ...call]) => call);
      const errors = await errorsOf(calls, true);
      const passed = DENIED_CALLS.filter(([, number], index) => errors[index] !== (number >= 424 ? 38 : 1));
      expect(passed.map(([name], index) => [name, errors[index]])).toEqual([]);
      // Without the filter these succeed or fail for other reasons, which shows that the filter denies them.
      const harmless = DENIED_CALLS.filter(([name]) =>
        /^(socket|memfd|inotify|shm|msg|sem|personality|keyctl|io_uring)/.test(name),
      );
      const without = await errorsOf(
        harmless.map(([, ...call]) => call),
        false,
      );
      expect(without.filter((error) => error !== 1).length).toBeGreaterThan(8);
      tried('system calls', calls.length);
    },
    PATIENCE,
  );

  it(
    '[F-01] denies calls by the numbers of other program types',
    async () => {
      const x32 = [0, 1, 2, 9, 41, 42, 56, 57, 59, 101].map((number): SystemCall => [0x40000000 + number]);
      expect(await errorsOf(x32, true)).toEqual(x32.map(() => 38));
      const { file, remove } = scriptFile(oldDoorProgram(), 0o755);
      const { code } = await outcomeOf(startChild(await outerLaunch(['/calls'], [[file, '/calls']])));
      remove();
      // EPERM, or a crash if the kernel has no 32-bit entry.
      expect([1, 128 + 11]).toContain(code);
      tried('calls by other numbers', x32.length + 1);
    },
    PATIENCE,
  );

  it(
    '[F-01] allows new threads and no new process, whatever the flags say',
    async () => {
      const [THREAD, VM, SIGHAND, NEWUSER, NEWNS, NEWNET] = [0x10000, 0x100, 0x800, 0x10000000, 0x20000, 0x40000000];
      const flags = [0, 17, VM | 17, 0x4000 | VM | 17, NEWUSER | 17, NEWNS | 17, NEWNET | 17, 0x7e020000 | 17];
      const mixed = [NEWUSER, NEWNS, NEWNET].map((flag) => flag | THREAD | VM | SIGHAND);
      const calls = [...flags, ...mixed].map((flag): SystemCall => [56, flag]);
      expect(await errorsOf(calls, true)).toEqual(calls.map(() => 1));
      tried('ways to clone', calls.length);
    },
    PATIENCE,
  );
});
