/** The filter of system calls, run as the kernel runs it. */
import {
  allowedCalls,
  CLONE,
  type FilteredArch,
  GETSOCKOPT,
} from '../../../src/tools/code-interpreter/sandbox/allowed-system-calls.ts';
import { seccompFilter } from '../../../src/tools/code-interpreter/sandbox/seccomp-filter.ts';

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ANSWERS = new Map([
  [0x7fff0000, 'allowed'],
  [0x00050001, 'EPERM'],
  [0x00050026, 'ENOSYS'],
]);

/** What the program answers for a call of the architecture, with these arguments. */
function answer(filter: Uint8Array, arch: number, call: number, args: readonly number[] = []): string | undefined {
  const view = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  const data = new Map([
    [0, call],
    [4, arch],
    ...args.map((value, index): [number, number] => [16 + 8 * index, value]),
  ]);
  let loaded = 0;
  for (let at = 0; at * 8 < filter.byteLength; at += 1) {
    const operand = view.getUint32(at * 8 + 4, true);
    const jump = (holds: boolean) => view.getUint8(at * 8 + (holds ? 2 : 3));
    switch (view.getUint16(at * 8, true)) {
      case 0x20:
        loaded = (data.get(operand) ?? 0) >>> 0;
        break;
      case 0x15:
        at += jump(loaded === operand);
        break;
      case 0x25:
        at += jump(loaded > operand);
        break;
      case 0x35:
        at += jump(loaded >= operand);
        break;
      case 0x45:
        at += jump((loaded & operand) !== 0);
        break;
      case 0x06:
        return ANSWERS.get(operand);
      default:
        throw new Error('no such instruction');
    }
  }
  throw new Error('the program has no end');
}

describe.each<FilteredArch>(['x64', 'arm64'])('the filter for %s', (arch) => {
  const filter = seccompFilter(arch);
  const ask = (call: number, ...args: readonly number[]) => answer(filter, AUDIT[arch], call, args);

  it('[F-01] allows what is listed and nothing else, of all numbers that there may be', () => {
    const allowed = new Set(allowedCalls(arch));
    const conditional = new Set([CLONE[arch], GETSOCKOPT[arch]]);
    for (let call = 0; call < 2000; call += 1) {
      const denied = call >= 424 ? 'ENOSYS' : 'EPERM';
      if (!conditional.has(call)) expect([call, ask(call)]).toEqual([call, allowed.has(call) ? 'allowed' : denied]);
    }
    for (const call of [0x40000000, 0x40000001, 0x7fffffff, 0xffffffff]) expect(ask(call)).toBe('ENOSYS');
  });

  it('[F-01] lets threads begin, but neither processes nor namespaces', () => {
    expect(ask(CLONE[arch], 0x3d0f00)).toBe('allowed');
    for (const flags of [0, 17, 0x4111, 0x10000000, 0x3d0f00 | 0x10000000, 0x3d0f00 | 0x40000000])
      expect(ask(CLONE[arch], flags)).toBe('EPERM');
  });

  it('[F-01] lets a descriptor’s type be asked for, and no peer', () => {
    expect([3, 17, 77, 8].map((option) => ask(GETSOCKOPT[arch], 0, 1, option))).toEqual([
      'allowed',
      'EPERM',
      'EPERM',
      'EPERM',
    ]);
  });

  it('[F-01] denies every call of another kind of program', () => {
    for (const other of [0x40000003, 0x40000028, AUDIT[arch === 'x64' ? 'arm64' : 'x64'], 0])
      for (const call of [0, 1, 59, 63, 93, 221]) expect(answer(filter, other, call)).toBe('EPERM');
  });

  it('[F-01] is as small as the kernel demands', () => {
    expect(filter.byteLength / 8).toBeLessThan(4096);
  });
});
