/** The system calls that Node and Pyodide make once they are started, as numbers of each processor; all others are denied. */

/** The supported processors, as `process.arch` names them. */
export type FilteredArch = 'x64' | 'arm64';

type Row = readonly [name: string, x64: number, arm64?: number];

/** Later calls have one number on every processor. Denied ones appear not to exist, so that libraries use older calls. */
export const FIRST_COMMON_CALL = 424;

/**
 * From `asm/unistd_64.h` and `asm-generic/unistd.h`. No call here creates a process, a socket, a namespace or a file, loads
 * anything into the kernel or affects another process. `execve` starts Node itself; the sandbox contains no other program.
 */
const ROWS: readonly Row[] = [
  // Existing files and pipes.
  ['read', 0, 63],
  ['write', 1, 64],
  ['open', 2],
  ['close', 3, 57],
  ['stat', 4],
  ['fstat', 5, 80],
  ['lstat', 6],
  ['lseek', 8, 62],
  ['ioctl', 16, 29],
  ['pread64', 17, 67],
  ['readv', 19, 65],
  ['writev', 20, 66],
  ['access', 21],
  ['pipe', 22],
  ['dup', 32, 23],
  ['dup2', 33],
  ['dup3', 292, 24],
  ['fcntl', 72, 25],
  ['getcwd', 79, 17],
  ['readlink', 89],
  ['readlinkat', 267, 78],
  ['getdents64', 217, 61],
  ['fadvise64', 221, 223],
  ['openat', 257, 56],
  ['newfstatat', 262, 79],
  ['faccessat', 269, 48],
  ['pipe2', 293, 59],
  ['statx', 332, 291],
  ['close_range', 436, 436],
  ['faccessat2', 439, 439],
  // The standard streams, which are sockets that the host has created.
  ['shutdown', 48, 210],
  ['getsockname', 51, 204],
  // Memory.
  ['mmap', 9, 222],
  ['mprotect', 10, 226],
  ['munmap', 11, 215],
  ['brk', 12, 214],
  ['mremap', 25, 216],
  ['mincore', 27, 232],
  ['madvise', 28, 233],
  ['pkey_mprotect', 329, 288],
  ['pkey_alloc', 330, 289],
  ['pkey_free', 331, 290],
  // Its own threads and signals.
  ['rt_sigaction', 13, 134],
  ['rt_sigprocmask', 14, 135],
  ['rt_sigreturn', 15, 139],
  ['sched_yield', 24, 124],
  ['sched_getparam', 143, 121],
  ['sched_getscheduler', 145, 120],
  ['sched_get_priority_max', 146, 125],
  ['sched_get_priority_min', 147, 126],
  ['sched_getaffinity', 204, 123],
  ['sigaltstack', 131, 132],
  ['arch_prctl', 158],
  ['prctl', 157, 167],
  ['tkill', 200, 130],
  ['tgkill', 234, 131],
  ['futex', 202, 98],
  ['set_tid_address', 218, 96],
  ['restart_syscall', 219, 128],
  ['set_robust_list', 273, 99],
  ['membarrier', 324, 283],
  ['rseq', 334, 293],
  ['execve', 59, 221],
  ['exit', 60, 93],
  ['exit_group', 231, 94],
  // Waiting.
  ['poll', 7],
  ['ppoll', 271, 73],
  ['select', 23],
  ['pselect6', 270, 72],
  ['epoll_wait', 232],
  ['epoll_ctl', 233, 21],
  ['epoll_pwait', 281, 22],
  ['epoll_create1', 291, 20],
  ['eventfd2', 290, 19],
  ['nanosleep', 35, 101],
  ['clock_nanosleep', 230, 115],
  // Clocks, random numbers, and information about itself.
  ['time', 201],
  ['gettimeofday', 96, 169],
  ['clock_gettime', 228, 113],
  ['clock_getres', 229, 114],
  ['getrandom', 318, 278],
  ['getpid', 39, 172],
  ['getppid', 110, 173],
  ['gettid', 186, 178],
  ['getuid', 102, 174],
  ['geteuid', 107, 175],
  ['getgid', 104, 176],
  ['getegid', 108, 177],
  ['getgroups', 115, 158],
  ['capget', 125, 90],
  ['getrlimit', 97, 163],
  ['prlimit64', 302, 261],
  ['getrusage', 98, 165],
  ['getpriority', 140, 141],
  ['getcpu', 309, 168],
  ['times', 100, 153],
  ['sysinfo', 99, 179],
  ['uname', 63, 160],
];

/** Allowed only with certain arguments. */
export const CLONE: Readonly<Record<FilteredArch, number>> = { x64: 56, arm64: 220 };
export const GETSOCKOPT: Readonly<Record<FilteredArch, number>> = { x64: 55, arm64: 209 };

/** The numbers that are allowed with any arguments, sorted. */
export function allowedCalls(arch: FilteredArch): readonly number[] {
  const numbers = ROWS.flatMap(([, x64, arm64]) => (arch === 'x64' ? x64 : (arm64 ?? [])));
  return numbers.toSorted((a, b) => a - b);
}
