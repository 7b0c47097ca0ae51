/** Reads untrusted ZIP archives within a limit of unpacked bytes, whatever sizes they declare. */
import { crc32, inflateRawSync } from 'node:zlib';
import { DocumentError } from './document-job.ts';

interface Entry {
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly unpacked: number;
  readonly at: number;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const LOCAL_BYTES = 30;
const MAX_COMMENT_LENGTH = 65_535;
const MAX_ENTRIES = 20_000;
const IS_ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

const DAMAGED = 'is damaged or cut off';

/** An archive that unpacks only the requested entries. */
export class Zip {
  private readonly bytes: Buffer;
  private readonly maxUnpacked: number;
  private readonly entries = new Map<string, Entry>();
  private bytesLeft: number;

  /** Throws `invalid_file` if it is no complete archive, and `file_too_large`. */
  constructor(bytes: Uint8Array<ArrayBuffer>, maxUnpacked: number) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.maxUnpacked = maxUnpacked;
    this.bytesLeft = maxUnpacked;
    try {
      this.readDirectory();
    } catch (error) {
      throw error instanceof DocumentError ? error : damagedError(error);
    }
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /** The entry's bytes; undefined if there is none. Throws as the constructor does. */
  read(name: string): Buffer | undefined {
    const entry = this.entries.get(name);
    if (!entry) return undefined;
    if (entry.flags & IS_ENCRYPTED) throw new DocumentError('invalid_file', 'is encrypted');
    if (entry.unpacked > this.bytesLeft) throw this.tooLarge();
    try {
      const unpacked = this.unpack(entry);
      if (unpacked.length !== entry.unpacked || crc32(unpacked) !== entry.crc) throw damagedError();
      this.bytesLeft -= unpacked.length;
      return unpacked;
    } catch (error) {
      // The cast: zlib's errors have a code. More came out than was declared.
      if ((error as { readonly code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw damagedError(error);
      throw error instanceof DocumentError ? error : damagedError(error);
    }
  }

  private unpack({ method, packed, unpacked, at }: Entry): Buffer {
    if (this.bytes.readUInt32LE(at) !== LOCAL) throw damagedError();
    const from = at + LOCAL_BYTES + this.bytes.readUInt16LE(at + 26) + this.bytes.readUInt16LE(at + 28);
    const content = this.bytes.subarray(from, from + packed);
    if (content.length !== packed) throw damagedError();
    if (method === STORED) return content;
    if (method !== DEFLATED) throw damagedError();
    return inflateRawSync(content, { maxOutputLength: unpacked + 1 });
  }

  private readDirectory(): void {
    const { bytes } = this;
    const end = this.end();
    const count = bytes.readUInt16LE(end + 10);
    if (count > MAX_ENTRIES) throw new DocumentError('file_too_large', `has more than ${MAX_ENTRIES} entries`);
    let at = bytes.readUInt32LE(end + 16);
    for (let index = 0; index < count; index += 1) {
      if (bytes.readUInt32LE(at) !== CENTRAL) throw damagedError();
      const nameEnd = at + 46 + bytes.readUInt16LE(at + 28);
      // Names are looked up and never become paths.
      this.entries.set(bytes.toString('utf8', at + 46, nameEnd), {
        flags: bytes.readUInt16LE(at + 8),
        method: bytes.readUInt16LE(at + 10),
        crc: bytes.readUInt32LE(at + 16),
        packed: bytes.readUInt32LE(at + 20),
        unpacked: bytes.readUInt32LE(at + 24),
        at: bytes.readUInt32LE(at + 42),
      });
      at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
    }
    this.refuseOverlaps();
  }

  /** Programs never write them: entries that share their bytes unpack a few of them thousands of times. */
  private refuseOverlaps(): void {
    const entries = [...this.entries.values()].sort((one, other) => one.at - other.at);
    let end = 0;
    for (const { at, packed } of entries) {
      if (at < end) throw damagedError();
      end = at + LOCAL_BYTES + packed;
    }
  }

  private end(): number {
    const from = Math.max(0, this.bytes.length - END_BYTES - MAX_COMMENT_LENGTH);
    for (let at = this.bytes.length - END_BYTES; at >= from; at -= 1)
      if (this.bytes.readUInt32LE(at) === END) return at;
    throw damagedError();
  }

  private tooLarge(): DocumentError {
    return new DocumentError('file_too_large', `takes more than ${this.maxUnpacked} bytes unpacked`);
  }
}

function damagedError(cause?: unknown): DocumentError {
  return Object.assign(new DocumentError('invalid_file', DAMAGED), { cause });
}
