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

/** A body whose first bytes have arrived. */
interface BegunBody {
  /** The text of those bytes; empty if the body holds nothing or has failed. */
  readonly start: string;
  /** The whole body, which has not been read yet. */
  readonly body: Bytes;
}

/** Waits for the first bytes of a body, before it is decided how it is read. */
export function beginBody(body: Bytes): Promise<BegunBody> {
  return new Promise((resolve) => {
    const early: ((reader: ByteReader) => void)[] = [];
    let reader: ByteReader | undefined;
    const begun: Bytes = {
      readBy(later) {
        reader = later;
        for (const pass of early.splice(0)) pass(later);
      },
      pause: () => body.pause(),
      resume: () => body.resume(),
      close: () => body.close(),
    };
    const take = (start: string, pass: (reader: ByteReader) => void) => {
      if (reader) return pass(reader);
      early.push(pass);
      resolve({ start, body: begun });
    };
    body.readBy({
      bytes: (chunk) => take(chunk.toString('utf8'), (to) => to.bytes(chunk)),
      ended: () => take('', (to) => to.ended()),
      failed: (error) => take('', (to) => to.failed(error)),
    });
  });
}

/** The text of a whole body. Rejects with `upstream_error` past so many bytes. */
export async function readWhole(body: Bytes, maxBytes = MAX_WHOLE_BYTES): Promise<string> {
  return bodyText([await readBytes(body, maxBytes)]);
}

/** The text of a whole body that has come in these pieces, without a byte order mark, which is no JSON. */
export function bodyText(pieces: readonly Uint8Array[]): string {
  const text = Buffer.concat(pieces).toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** A whole body. Rejects with `upstream_error` past so many bytes. */
export function readBytes(body: Bytes, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => body.readBy(new WholeReader(body, maxBytes, resolve, reject)));
}

/** Bytes that wait for their reader, above which the answer is paused. */
const MAX_WAITING = 256 * 1024;

/** What happens to a body while it is read piece by piece. */
interface PieceWatch {
  /** Called for each piece that arrives. */
  reset(): void;
  /** Called when all of it has been read. */
  finish(): void;
  /** Called last, however the reading ended. */
  stop(): void;
}

/**
 * The pieces of a body, no faster than they are read; it begins with the first that is asked for. An iterator by hand: a short answer has two
 * or three pieces, and generators within each other make a dozen promises of each.
 */
export class PieceReader implements AsyncIterableIterator<Uint8Array> {
  private readonly body: Bytes;
  private readonly watch: PieceWatch;
  private readonly shown: (error: unknown) => unknown;
  private readonly pieces: Buffer[] = [];
  private waiting = 0;
  private state: 'unread' | 'arriving' | 'arrived' | 'closed' = 'unread';
  private failure: { readonly error: unknown } | undefined = undefined;
  private wake: (() => void) | undefined = undefined;

  /** `shown` makes of a failure of the body the error that its reader receives. */
  constructor(body: Bytes, watch: PieceWatch, shown: (error: unknown) => unknown) {
    this.body = body;
    this.watch = watch;
    this.shown = shown;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Rejects with the error that is shown. One call at a time, as `for await` makes them. */
  async next(): Promise<IteratorResult<Uint8Array, void>> {
    if (this.state === 'unread') {
      this.state = 'arriving';
      this.body.readBy(this);
    }
    for (;;) {
      const piece = this.pieces.shift();
      if (piece) {
        this.waiting -= piece.length;
        return { value: piece, done: false };
      }
      if (this.state !== 'arriving') return this.end();
      // First, since what the connection holds already arrives within `resume`.
      const arrival = new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.body.resume();
      await arrival;
    }
  }

  /** Ends the body, whose reader has left, or has never come. */
  async return(): Promise<IteratorResult<Uint8Array, void>> {
    if (this.state === 'arriving' || this.state === 'unread') this.body.close();
    if (this.state !== 'closed') this.watch.stop();
    this.state = 'closed';
    return { value: undefined, done: true };
  }

  bytes(chunk: Buffer): void {
    this.watch.reset();
    this.pieces.push(chunk);
    this.waiting += chunk.length;
    if (this.waiting > MAX_WAITING) this.body.pause();
    this.wake?.();
  }

  ended(): void {
    if (this.state === 'arriving') this.state = 'arrived';
    this.wake?.();
  }

  failed(error: unknown): void {
    this.failure = { error };
    this.ended();
  }

  private end(): IteratorResult<Uint8Array, void> {
    if (this.state === 'closed') return { value: undefined, done: true };
    this.state = 'closed';
    // Before the watch is stopped, which would count as the reason.
    const failure = this.failure && { error: this.shown(this.failure.error) };
    if (!failure) this.watch.finish();
    this.watch.stop();
    if (failure) throw failure.error;
    return { value: undefined, done: true };
  }
}

/** How the reading of pieces ended: `left` if their reader stopped, or has never begun. */
export type ReadingEnd = 'done' | 'failed' | 'left';

/**
 * The same pieces; `ended` is called once, however the reading of them ends, and `take` for each before it is read. Not a generator: the `finally` of one that nobody has begun to read does
 * not run when it is closed.
 */
export function untilRead(
  pieces: AsyncIterable<Uint8Array>,
  ended: (end: ReadingEnd, error?: unknown) => void,
  take: (piece: Uint8Array) => void = () => {},
): AsyncIterableIterator<Uint8Array> {
  const source = pieces[Symbol.asyncIterator]();
  let isOver = false;
  const end = (how: ReadingEnd, error?: unknown) => {
    if (isOver) return;
    isOver = true;
    ended(how, error);
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      try {
        const step = await source.next();
        if (!step.done) {
          take(step.value);
          return step;
        }
      } catch (error) {
        end('failed', error);
        throw error;
      }
      end('done');
      return { value: undefined, done: true };
    },
    async return() {
      end('left');
      await source.return?.();
      return { value: undefined, done: true };
    },
  };
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
