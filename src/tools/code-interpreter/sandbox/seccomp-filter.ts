/** The filter of system calls that the kernel applies to a sandbox: a small classic BPF program, built here so that nothing must be compiled. */
import { allowedCalls, CLONE, FIRST_COMMON_CALL, type FilteredArch, GETSOCKOPT } from './allowed-system-calls.ts';

/** One instruction of a filter, as `struct sock_filter` has it; jumps are relative to the next one. */
export type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

// From linux/bpf_common.h, linux/seccomp.h and linux/audit.h.
const LOAD = 0x20;
const EQUAL = 0x15;
const GREATER = 0x25;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const AUDIT_ARCH: Readonly<Record<FilteredArch, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

// In `struct seccomp_data`; the lower half of an argument, because both processors are little-endian.
const CALL = 0;
const ARCH = 4;
const argument = (index: number) => 16 + 8 * index;

const CLONE_THREAD = 0x00010000;
/** Every CLONE_NEW… flag. */
const CLONE_NAMESPACES = 0x7e020000;
const SO_TYPE = 3;

const allow: Instruction = [RETURN, 0, 0, ALLOW];
const deny: Instruction = [RETURN, 0, 0, ERRNO | EPERM];
const absent: Instruction = [RETURN, 0, 0, ERRNO | ENOSYS];

/** Whether there is a filter for the processor. */
export function isFilteredArch(arch: string): arch is FilteredArch {
  return Object.hasOwn(AUDIT_ARCH, arch);
}

/**
 * Allows what `allowedCalls` lists, new threads but no new processes, and reading a descriptor's type. Everything else is
 * denied with EPERM, and newer calls with ENOSYS. Calls of another processor type (32 bits, x32) are denied, too.
 */
export function seccompFilter(arch: FilteredArch): Uint8Array {
  return encodeProgram([
    [LOAD, 0, 0, ARCH],
    [EQUAL, 1, 0, AUDIT_ARCH[arch]],
    deny,
    [LOAD, 0, 0, CALL],
    ...mergeRanges(allowedCalls(arch)).flatMap(([first, last]): Instruction[] => [
      [AT_LEAST, 0, 2, first],
      [GREATER, 1, 0, last],
      allow,
    ]),
    [EQUAL, 0, 5, CLONE[arch]],
    [LOAD, 0, 0, argument(0)],
    [ANY_BIT, 0, 2, CLONE_THREAD],
    [ANY_BIT, 1, 0, CLONE_NAMESPACES],
    allow,
    deny,
    [EQUAL, 0, 4, GETSOCKOPT[arch]],
    [LOAD, 0, 0, argument(2)],
    [EQUAL, 0, 1, SO_TYPE],
    allow,
    deny,
    [AT_LEAST, 0, 1, FIRST_COMMON_CALL],
    absent,
    deny,
  ]);
}

type Range = readonly [first: number, last: number];

/** Merges adjacent numbers: the kernel runs the program for each call. */
function mergeRanges(numbers: readonly number[]): readonly Range[] {
  const all = new Set(numbers);
  const lasts = numbers.filter((number) => !all.has(number + 1));
  return numbers.filter((number) => !all.has(number - 1)).map((first, index): Range => [first, lasts[index] ?? first]);
}

/** The program as the kernel reads it. */
export function encodeProgram(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, ifTrue);
    bytes.setUint8(index * 8 + 3, ifFalse);
    bytes.setUint32(index * 8 + 4, operand, true);
  }
  return new Uint8Array(bytes.buffer);
}
