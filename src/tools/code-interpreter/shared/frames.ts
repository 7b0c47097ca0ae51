/** The protocol between the host and the process of a container: binary frames, whose length is checked before they are read. */
import { Buffer } from 'node:buffer';
import { FRAME_BYTES, KINDS, type Kind } from './kinds.ts';

/** One frame; `id` is the question's. */
export interface Frame {
  readonly kind: Kind;
  readonly id: number;
  readonly data: Buffer;
}

/** Receives frames; `broken` is called once for bytes that are not frames, and nothing after it. */
interface FrameTaker {
  frame(frame: Frame): void;
  broken(): void;
}

/** One byte for the kind, and four each for the id and the length. */
export const HEADER_BYTES = 9;

/** The bytes of a field, in as many frames as needed; a field without bytes is one frame. */
export function encodeFrames(kind: Kind, id: number, data: Uint8Array = new Uint8Array()): Buffer {
  const parts: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < data.length; at += FRAME_BYTES) {
    const part = data.subarray(at, at + FRAME_BYTES);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(KINDS.indexOf(kind), 0);
    header.writeUInt32BE(id, 1);
    header.writeUInt32BE(part.length, 5);
    parts.push(header, part);
  }
  return Buffer.concat(parts);
}

/** Takes the chunks of a stream. Holds no more than one frame. */
export function frameReader(taker: FrameTaker): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  let expectedSize = HEADER_BYTES;
  let header: Omit<Frame, 'data'> | undefined;
  let broken = false;

  /** The expected bytes; not copied if one chunk contains all of them. */
  function takeParts(): Buffer {
    const bytes = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    parts = [];
    size = 0;
    return bytes;
  }

  function readHeader(bytes: Buffer): void {
    const kind = KINDS[bytes.readUInt8(0)];
    const length = bytes.readUInt32BE(5);
    if (!kind || length > FRAME_BYTES) {
      broken = true;
      return taker.broken();
    }
    header = { kind, id: bytes.readUInt32BE(1) };
    expectedSize = length;
  }

  function advance(): void {
    if (!header) return readHeader(takeParts());
    const frame = { ...header, data: takeParts() };
    header = undefined;
    expectedSize = HEADER_BYTES;
    taker.frame(frame);
  }

  return function read(chunk) {
    let at = 0;
    while (!broken && (at < chunk.length || size === expectedSize)) {
      const part = chunk.subarray(at, at + expectedSize - size);
      parts.push(part);
      size += part.length;
      at += part.length;
      if (size === expectedSize) advance();
    }
  };
}
