/** Knows an answer that is an event stream in plain text from all others, the moment its head is written. */
import type { ServerResponse } from 'node:http';
import { bytesOf } from './bytes-of.ts';
import { headerIn } from './node-body.ts';

/** What the head of an answer says of its body. */
export interface AnswerHead {
  readonly status: number;
  readonly type: string;
  /** Whether the bytes of the body are what they mean, as the handler writes them. */
  readonly plain: boolean;
  /** Whether somebody in front compresses them, and holds them back for it. */
  readonly compressed: boolean;
}

/** What the bytes of the answer pass at the place of one middleware: those in front may compress them behind it. */
export type Layer = Pick<ServerResponse, 'write' | 'end'>;

/** Calls `told` once, when the answer's head is written, by whatever call of the handler's, and before its first byte. */
export function onHead(res: ServerResponse, listener: (head: AnswerHead, layer: Layer) => void): void {
  const { writeHead } = res;
  const layer: Layer = { write: res.write.bind(res), end: res.end.bind(res) };
  // The casts: the overloads of all three are passed on as they come.
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

/** Writes the head of an answer in one piece, as Node would in the middle of `end`, where it is too late to watch. */
function openWhole(res: ServerResponse, given: readonly unknown[]): void {
  const { byteLength } = bytesOf(given);
  if (res.headersSent || res.statusCode !== 200 || byteLength === 0) return;
  const isFramed = res.hasHeader('content-length') || res.hasHeader('transfer-encoding');
  if (!isFramed) res.setHeader('content-length', byteLength);
  res.writeHead(200);
}

/** Whether it is one that may be read. */
export function isEventStream({ type, plain }: Pick<AnswerHead, 'type' | 'plain'>): boolean {
  return plain && /^text\/event-stream\b/i.test(type);
}
