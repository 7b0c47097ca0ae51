/** The bytes of an answer as they arrive, from any HTTP client. */
import type { Readable } from 'node:stream';
import { ApiError } from '../protocol/errors.ts';

/** How long an unread answer may take to end before its connection is closed, in milliseconds. */
const LINGER_MS = 1000;
/** Byte limit of an answer that is read as a whole: an error, a list of models, a completion that was not streamed. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;

/** The consumer of an answer. */
export interface ByteReader {
  bytes(chunk: Buffer): void;
  ended(): void;
  failed(error: unknown): void;
}

/** An answer's body. */
export interface Bytes {
  /** Passes everything that arrives to the reader. Call it once. */
  readBy(reader: ByteReader): void;
  /** Pauses until `resume`; a little more may still arrive. */
  pause(): void;
  resume(): void;
  /** Stops reading: a body that ends within a second frees its connection for reuse, another is cut. */
  close(): void;
}

/** Discards bytes. */
export const DISCARD: ByteReader = { bytes() {}, ended() {}, failed() {} };

/** Calls `cut` after that time. */
export function linger(cut: () => void): NodeJS.Timeout {
  return setTimeout(cut, LINGER_MS).unref();
}

/** The bytes of a Node stream. */
export function streamBytes(body: Readable): Bytes {
  let reader = DISCARD;
  return {
    readBy(byteReader) {
      reader = byteReader;
      body.on('data', (chunk: Buffer) => reader.bytes(chunk));
      body.once('end', () => reader.ended());
      body.once('error', (error) => reader.failed(error));
    },
    pause: () => void body.pause(),
    resume: () => void body.resume(),
    close() {
      reader = DISCARD;
      if (body.readableEnded || body.destroyed) return;
      body.on('error', () => {});
      body.resume();
      const timer = linger(() => body.destroy());
      body.once('close', () => clearTimeout(timer));
    },
  };
}

/** The text of a whole body. Rejects with `upstream_error` past so many bytes. */
export async function readWhole(body: Bytes, maxBytes = MAX_WHOLE_BYTES): Promise<string> {
  return (await readBytes(body, maxBytes)).toString('utf8');
}

/** A whole body. Rejects with `upstream_error` past so many bytes. */
export function readBytes(body: Bytes, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => body.readBy(new WholeReader(body, maxBytes, resolve, reject)));
}

/** Bytes that wait for their reader, above which the answer is paused. */
const MAX_WAITING = 256 * 1024;

/** The pieces of a body, no faster than they are read. `onBytes` is called for each that arrives. */
export async function* readPieces(body: Bytes, onBytes: () => void): AsyncGenerator<Uint8Array, void> {
  const pieces: Buffer[] = [];
  let waiting = 0;
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  let wake = () => {};
  body.readBy({
    bytes(chunk) {
      onBytes();
      pieces.push(chunk);
      waiting += chunk.length;
      if (waiting > MAX_WAITING) body.pause();
      wake();
    },
    ended() {
      isOver = true;
      wake();
    },
    failed(error) {
      failure = { error };
      isOver = true;
      wake();
    },
  });
  try {
    for (;;) {
      const arrived = pieces.splice(0);
      waiting = 0;
      for (const piece of arrived) yield piece;
      if (pieces.length > 0) continue;
      if (failure) throw failure.error;
      if (isOver) return;
      body.resume();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    if (!isOver) body.close();
  }
}

class WholeReader implements ByteReader {
  private readonly body: Bytes;
  private readonly maxBytes: number;
  private readonly resolve: (bytes: Buffer) => void;
  private readonly reject: (error: unknown) => void;
  private readonly chunks: Buffer[] = [];
  private length = 0;

  constructor(body: Bytes, maxBytes: number, resolve: (bytes: Buffer) => void, reject: (error: unknown) => void) {
    this.body = body;
    this.maxBytes = maxBytes;
    this.resolve = resolve;
    this.reject = reject;
  }

  bytes(chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length <= this.maxBytes) return void this.chunks.push(chunk);
    this.body.close();
    this.reject(new ApiError('upstream_error', 'The model server sent too large an answer.'));
  }

  ended(): void {
    this.resolve(Buffer.concat(this.chunks));
  }

  failed(error: unknown): void {
    this.reject(error);
  }
}
