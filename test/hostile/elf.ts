/** The smallest program that makes system calls: an ELF file for x86-64, written by hand since the sandbox contains no compiler and no libc. */

/** A number and up to six arguments. */
export type SystemCall = readonly [number: number, ...args: number[]];

const BASE = 0x400000;
const HEADERS = 64 + 56;
const ROOM = 4096;

/** Makes the calls one after another, and prints one byte for each: the error, or 0 for success. */
export function callsProgram(calls: readonly SystemCall[]): Uint8Array {
  const code = Buffer.concat([
    Buffer.from([0x48, 0x81, 0xec, ...u32(ROOM)]),
    ...calls.map((call, index) => oneCall(call, index)),
    // write(1, rsp, calls.length), exit_group(0)
    Buffer.from([0xb8, ...u32(1), 0xbf, ...u32(1), 0x48, 0x89, 0xe6, 0xba, ...u32(calls.length), 0x0f, 0x05]),
    Buffer.from([0xb8, ...u32(231), 0xbf, ...u32(0), 0x0f, 0x05]),
  ]);
  return Buffer.concat([headers(HEADERS + code.length), code]);
}

/** `int 0x80`: the entry of 32-bit programs, where the same numbers mean other calls. Ends with the error of getpid(). */
export function oldDoorProgram(): Uint8Array {
  const getpid = [0xb8, ...u32(20), 0xcd, 0x80];
  const code = Buffer.from([...getpid, 0xf7, 0xd8, 0x89, 0xc7, 0xb8, ...u32(231), 0x0f, 0x05]);
  return Buffer.concat([headers(HEADERS + code.length), code]);
}

/** Starts so many threads, none of which takes memory or descriptors, and waits forever. */
export function threadsProgram(count: number): Uint8Array {
  // mov eax, clone; mov edi, VM | FS | FILES | SIGHAND | THREAD; mov rsi, rsp; xor edx, edx; syscall; test eax, eax; jz wait
  const clone = [
    0xb8,
    ...u32(56),
    0xbf,
    ...u32(0x10f00),
    0x48,
    0x89,
    0xe6,
    0x31,
    0xd2,
    0x0f,
    0x05,
    0x85,
    0xc0,
    0x74,
    4,
  ];
  // dec ebx; jnz clone
  const again = [0xff, 0xcb, 0x75, 256 - (clone.length + 4)];
  // wait: poll(0, 0, -1); jmp wait
  const poll = [0xb8, ...u32(7), 0x31, 0xff, 0x31, 0xf6, 0xba, ...u32(-1), 0x0f, 0x05];
  const code = Buffer.from([0xbb, ...u32(count), ...clone, ...again, ...poll, 0xeb, 256 - (poll.length + 2)]);
  return Buffer.concat([headers(HEADERS + code.length), code]);
}

function oneCall([number, ...args]: SystemCall, index: number): Buffer {
  // mov edi, esi, edx, r10d, r8d, r9d
  const moves = [[0xbf], [0xbe], [0xba], [0x41, 0xba], [0x41, 0xb8], [0x41, 0xb9]];
  const set = moves.flatMap((move, at) => [...move, ...u32(args[at] ?? 0)]);
  // mov eax, number; syscall; neg eax; jns +2; xor eax, eax; mov [rsp + index], al
  const result = [0xf7, 0xd8, 0x79, 0x02, 0x31, 0xc0, 0x88, 0x84, 0x24, ...u32(index)];
  return Buffer.from([...set, 0xb8, ...u32(number), 0x0f, 0x05, ...result]);
}

function headers(size: number): Buffer {
  const bytes = Buffer.alloc(HEADERS);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  bytes.writeUInt16LE(2, 16); // ET_EXEC
  bytes.writeUInt16LE(62, 18); // EM_X86_64
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(BASE + HEADERS), 24);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(1, 64); // PT_LOAD
  bytes.writeUInt32LE(5, 68); // R + X
  bytes.writeBigUInt64LE(BigInt(BASE), 80);
  bytes.writeBigUInt64LE(BigInt(BASE), 88);
  bytes.writeBigUInt64LE(BigInt(size), 96);
  bytes.writeBigUInt64LE(BigInt(size), 104);
  bytes.writeBigUInt64LE(4096n, 112);
  return bytes;
}

function u32(value: number): number[] {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return [...bytes];
}
