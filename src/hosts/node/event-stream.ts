/** Recognises a plain-text event stream when the head of the answer is written. */

import type { ServerResponse } from 'node:http';
import { isEventStreamType } from '../../streams/event-lines.ts';
import { headerIn } from './node-body.ts';

/** What the head of an answer declares about its body. */
export interface AnswerHead {
  readonly status: number;
  readonly type: string;
  /** Whether the body's bytes are unencoded, as the handler writes them. */
  readonly plain: boolean;
  /** Whether a middleware in front compresses them, and therefore buffers them. */
  readonly compressed: boolean;
  /** Whether the head declares their number, so that a client stops reading there. */
  readonly measured: boolean;
}

/** What happens to the answer's bytes at one middleware: one in front of it may compress them later. */
export type Layer = Pick<ServerResponse, 'write' | 'end'>;

/** Answers of these have no body, and so no length. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Calls `listener` once, when any call of the handler writes the answer's head, and before the first byte. */
export function onHead(res: ServerResponse, listener: (head: AnswerHead, layer: Layer) => void): void {
  const layer: Layer = { write: res.write.bind(res), end: res.end.bind(res) };
  wrapWriteHead(res, (args, writeHead) => {
    const plain = isUnencoded(res, args);
    writeHead(args);
    const type = headerIn(res, args, 'content-type') ?? '';
    const measured = headerIn(res, args, 'content-length') !== undefined;
    listener({ status: res.statusCode, type, plain, compressed: !isUnencoded(res, args), measured }, layer);
  });
  // The casts: the overloads of both are passed on unchanged.
  res.write = function layeredWrite(...args: unknown[]) {
    if (!res.headersSent) res.writeHead(res.statusCode);
    return layer.write(...(args as Parameters<Layer['write']>));
  } as Layer['write'];
  res.end = function layeredEnd(...args: unknown[]) {
    // As Node would write the head in the middle of `end`, which is too late to watch.
    const { byteLength } = chunkToBytes(args);
    if (!res.headersSent && byteLength > 0 && !BODILESS.has(res.statusCode)) {
      // Trailers need chunks, which Node chooses where no length is declared.
      const isFramed = ['content-length', 'transfer-encoding', 'trailer'].some((name) => res.hasHeader(name));
      if (!isFramed) res.setHeader('content-length', byteLength);
      res.writeHead(res.statusCode);
    }
    return layer.end(...(args as unknown as Parameters<Layer['end']>));
  } as Layer['end'];
}

/** Runs `wrapper` in the place of `writeHead` until a head is written: one that throws, such as for a bad header, has not. */
export function wrapWriteHead(
  res: ServerResponse,
  wrapper: (args: readonly unknown[], writeHead: (args: readonly unknown[]) => void) => void,
): void {
  const { writeHead } = res;
  // The casts: the overloads are passed on unchanged.
  const wrapped = function wrappedWriteHead(...args: unknown[]) {
    res.writeHead = writeHead;
    try {
      wrapper(args, (passed) => void writeHead.apply(res, passed as Parameters<typeof writeHead>));
    } catch (error) {
      res.writeHead = wrapped;
      throw error;
    }
    return res;
  } as typeof writeHead;
  res.writeHead = wrapped;
}

function isUnencoded(res: ServerResponse, args: readonly unknown[]): boolean {
  return (headerIn(res, args, 'content-encoding') ?? 'identity').toLowerCase() === 'identity';
}

/** Whether it is an event stream in plain text. */
export function isEventStream({ type, plain }: Pick<AnswerHead, 'type' | 'plain'>): boolean {
  return plain && isEventStreamType(type);
}

/** The bytes of a chunk that `write` or `end` receives, which may be text of some encoding, or missing. */
export function chunkToBytes([chunk, encoding]: readonly unknown[]): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== 'string') return new Uint8Array();
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
}

/** Calls the callback of a `write` or an `end` in a later tick, if it has one. */
export function callBackSoon(args: readonly unknown[], error: Error | null = null): void {
  const callback = args.at(-1);
  if (typeof callback === 'function') process.nextTick(() => callback(error));
}
