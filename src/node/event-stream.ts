/** Recognises a plain-text event stream when the head of the answer is written. */
import type { ServerResponse } from 'node:http';
import { bytesOf } from './bytes-of.ts';
import { headerIn } from './node-body.ts';

/** What the head of an answer declares about its body. */
export interface AnswerHead {
  readonly status: number;
  readonly type: string;
  /** Whether the body's bytes are unencoded, as the handler writes them. */
  readonly plain: boolean;
  /** Whether a middleware in front compresses them, and therefore buffers them. */
  readonly compressed: boolean;
}

/** What happens to the answer's bytes at one middleware: one in front of it may compress them later. */
export type Layer = Pick<ServerResponse, 'write' | 'end'>;

/** Calls `listener` once, when any call of the handler writes the answer's head, and before the first byte. */
export function onHead(res: ServerResponse, listener: (head: AnswerHead, layer: Layer) => void): void {
  const { writeHead } = res;
  const layer: Layer = { write: res.write.bind(res), end: res.end.bind(res) };
  // The casts: the overloads of all three are passed on unchanged.
  res.writeHead = function watchedWriteHead(this: ServerResponse, ...given: unknown[]) {
    res.writeHead = writeHead;
    const plain = isPlain(this, given);
    const answer = writeHead.apply(this, given as Parameters<typeof writeHead>);
    const type = headerIn(this, given, 'content-type') ?? '';
    listener({ status: this.statusCode, type, plain, compressed: !isPlain(this, given) }, layer);
    return answer;
  } as typeof writeHead;
  res.write = function layeredWrite(...given: unknown[]) {
    if (!res.headersSent) res.writeHead(res.statusCode);
    return layer.write(...(given as Parameters<Layer['write']>));
  } as Layer['write'];
  res.end = function layeredEnd(...given: unknown[]) {
    openWhole(res, given);
    return layer.end(...(given as unknown as Parameters<Layer['end']>));
  } as Layer['end'];
}

function isPlain(res: ServerResponse, given: readonly unknown[]): boolean {
  return (headerIn(res, given, 'content-encoding') ?? 'identity') === 'identity';
}

/** Writes the head of an answer in one call, as Node would in the middle of `end`, which is too late to watch. */
function openWhole(res: ServerResponse, given: readonly unknown[]): void {
  const { byteLength } = bytesOf(given);
  if (res.headersSent || res.statusCode !== 200 || byteLength === 0) return;
  const isFramed = res.hasHeader('content-length') || res.hasHeader('transfer-encoding');
  if (!isFramed) res.setHeader('content-length', byteLength);
  res.writeHead(200);
}

/** Whether it is an event stream in plain text. */
export function isEventStream({ type, plain }: Pick<AnswerHead, 'type' | 'plain'>): boolean {
  return plain && /^text\/event-stream\b/i.test(type);
}
