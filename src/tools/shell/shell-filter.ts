/** The filter of system calls for a shell in a sandbox, whose programs make many more of them than one that is known beforehand. */
import type { FilteredArch } from '../code-interpreter/sandbox/allowed-system-calls.ts';
import { encodeProgram, type Instruction } from '../code-interpreter/sandbox/seccomp-filter.ts';

type Row = readonly [name: string, x64: number | undefined, arm64?: number];

/**
 * From `asm/unistd_64.h` and `asm-generic/unistd.h`: what reaches other processes, namespaces, mounts, the kernel's own state or
 * devices, and memory that nobody counts. All other calls of the first 424 are allowed.
 */
const DENIED: readonly Row[] = [
  // Other processes.
  ['ptrace', 101, 117],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['kcmp', 312, 272],
  ['migrate_pages', 256, 238],
  ['move_pages', 279, 239],
  // Namespaces, mounts and roots.
  ['unshare', 272, 97],
  ['setns', 308, 268],
  ['mount', 165, 40],
  ['umount2', 166, 39],
  ['pivot_root', 155, 41],
  ['chroot', 161, 51],
  ['swapon', 167, 224],
  ['swapoff', 168, 225],
  ['open_by_handle_at', 304, 265],
  ['name_to_handle_at', 303, 264],
  ['quotactl', 179, 60],
  ['sethostname', 170, 161],
  ['setdomainname', 171, 162],
  // The kernel.
  ['bpf', 321, 280],
  ['perf_event_open', 298, 241],
  ['userfaultfd', 323, 282],
  ['fanotify_init', 300, 262],
  ['init_module', 175, 105],
  ['delete_module', 176, 106],
  ['finit_module', 313, 273],
  ['create_module', 174],
  ['kexec_load', 246, 104],
  ['kexec_file_load', 320, 294],
  ['reboot', 169, 142],
  ['acct', 163, 89],
  ['syslog', 103, 116],
  ['_sysctl', 156],
  ['nfsservctl', 180, 42],
  ['uselib', 134],
  ['personality', 135, 92],
  ['modify_ldt', 154],
  ['iopl', 172],
  ['ioperm', 173],
  ['vhangup', 153, 58],
  ['add_key', 248, 217],
  ['request_key', 249, 218],
  ['keyctl', 250, 219],
  ['settimeofday', 164, 170],
  ['clock_settime', 227, 112],
  ['clock_adjtime', 305, 266],
  ['adjtimex', 159, 171],
  // Memory that counts for no process.
  ['memfd_create', 319, 279],
  ['shmget', 29, 194],
  ['shmctl', 31, 195],
  ['shmat', 30, 196],
  ['semget', 64, 190],
  ['msgget', 68, 186],
  ['mq_open', 240, 180],
  ['io_setup', 206, 0],
  ['vmsplice', 278, 75],
];

/** Later calls have one number on every processor; of these the ones that programs need are allowed, and others are absent. */
const FIRST_LATER_CALL = 424;
const LATER: readonly number[] = [434, 436, 437, 439, 441, 449, 452];

// From linux/bpf_common.h, linux/seccomp.h and linux/audit.h.
const [LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [ALLOW, EPERM, ENOSYS] = [0x7fff0000, 0x00050001, 0x00050026];
const AUDIT_ARCH: Readonly<Record<FilteredArch, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const [CALL, ARCH] = [0, 4];
const argument = (index: number) => 16 + 8 * index;
const CLONE: Readonly<Record<FilteredArch, number>> = { x64: 56, arm64: 220 };
const IOCTL: Readonly<Record<FilteredArch, number>> = { x64: 16, arm64: 29 };
const SOCKET: Readonly<Record<FilteredArch, number>> = { x64: 41, arm64: 198 };
/** Every CLONE_NEW… flag. */
const CLONE_NAMESPACES = 0x7e020000;
/** They type into a terminal. */
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c];
/** Local ones, and those of the empty network. */
const FAMILIES: readonly number[] = [1, 2, 10];

const allow: Instruction = [RETURN, 0, 0, ALLOW];
const deny: Instruction = [RETURN, 0, 0, EPERM];
const absent: Instruction = [RETURN, 0, 0, ENOSYS];

/** Denies what the list has; calls of another processor type (32 bits, x32) are denied, too. */
export function shellFilter(arch: FilteredArch): Uint8Array {
  const denied = DENIED.flatMap(([, x64, arm64]) => (arch === 'x64' ? x64 : arm64) ?? []);
  const each = (numbers: readonly number[], then: Instruction) =>
    numbers.flatMap((number): Instruction[] => [[EQUAL, 0, 1, number], then]);
  return encodeProgram([
    [LOAD, 0, 0, ARCH],
    [EQUAL, 1, 0, AUDIT_ARCH[arch]],
    deny,
    [LOAD, 0, 0, CALL],
    ...each(LATER, allow),
    [AT_LEAST, 0, 1, FIRST_LATER_CALL],
    absent,
    ...each(denied, deny),
    [EQUAL, 0, 4, CLONE[arch]],
    [LOAD, 0, 0, argument(0)],
    [ANY_BIT, 0, 1, CLONE_NAMESPACES],
    deny,
    allow,
    [EQUAL, 0, 6, IOCTL[arch]],
    [LOAD, 0, 0, argument(1)],
    [EQUAL, 0, 1, TIOCSTI],
    deny,
    [EQUAL, 0, 1, TIOCLINUX],
    deny,
    allow,
    [EQUAL, 0, 2 + 2 * FAMILIES.length, SOCKET[arch]],
    [LOAD, 0, 0, argument(0)],
    ...each(FAMILIES, allow),
    deny,
    allow,
  ]);
}
