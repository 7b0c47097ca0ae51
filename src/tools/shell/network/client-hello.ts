/** Reads from the first bytes of a TLS connection for which host they are. */

/** Needed by `helloBytes`. */
export const HELLO_HEADER_BYTES = 5;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
/** Of the record, without its header: RFC 8446, section 5.1. */
const MAX_RECORD_BYTES = 16_384;
const SERVER_NAME = 0;
const HOST_NAME = 0;
/** It hides another name: RFC 9849. */
const ENCRYPTED_HELLO = 0xfe0d;

/** How many bytes `helloName` needs, as the header says: those of the whole record. Undefined where it begins no handshake. */
export function helloBytes(bytes: Buffer): number | undefined {
  const length = bytes.readUInt16BE(3);
  const isHandshake = bytes[0] === HANDSHAKE && bytes[1] === 3 && length > 0 && length <= MAX_RECORD_BYTES;
  return isHandshake ? HELLO_HEADER_BYTES + length : undefined;
}

/**
 * The one name in a greeting, in lower case. Undefined where there is none or another one is hidden, and for whatever is not a greeting in one
 * record, to the letter.
 */
export function helloName(bytes: Buffer): string | undefined {
  try {
    const record = new Fields(bytes.subarray(HELLO_HEADER_BYTES, helloBytes(bytes)));
    if (record.number(1) !== CLIENT_HELLO) return undefined;
    const hello = new Fields(record.block(3));
    // Its version and its random bytes; then the session, the ciphers and the compressions.
    hello.bytes(2 + 32);
    for (const size of [1, 2, 1]) hello.block(size);
    const extensions = new Fields(hello.block(2));
    if (record.left > 0 || hello.left > 0) return undefined;
    let name: string | undefined;
    while (extensions.left > 0) {
      const type = extensions.number(2);
      const extension = new Fields(extensions.block(2));
      if (type === ENCRYPTED_HELLO) return undefined;
      if (type !== SERVER_NAME) continue;
      const list = new Fields(extension.block(2));
      if (name !== undefined || list.number(1) !== HOST_NAME) return undefined;
      name = list.block(2).toString('latin1').toLowerCase();
      if (list.left > 0 || extension.left > 0) return undefined;
    }
    return name;
  } catch {
    // It ends before its last field.
    return undefined;
  }
}

/** Fields one after the other; throws a `RangeError` where there are fewer bytes. */
class Fields {
  private readonly data: Buffer;
  private at = 0;

  constructor(data: Buffer) {
    this.data = data;
  }

  get left(): number {
    return this.data.length - this.at;
  }

  bytes(length: number): Buffer {
    if (length > this.left) throw new RangeError('There are fewer bytes.');
    this.at += length;
    return this.data.subarray(this.at - length, this.at);
  }

  number(size: number): number {
    return this.bytes(size).readUIntBE(0, size);
  }

  /** As many bytes as the number before them says, which has that many. */
  block(size: number): Buffer {
    return this.bytes(this.number(size));
  }
}
