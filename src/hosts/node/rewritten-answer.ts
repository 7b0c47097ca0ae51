/** Replaces the body of a handler's answer piece by piece, where the replacement may take its time. */
import type { ServerResponse } from 'node:http';
import { type AnswerHead, callBackSoon, chunkToBytes, type Layer, onHead, wrapWriteHead } from './event-stream.ts';
import { headerIn } from './node-body.ts';
import { closedError, isClosed } from './node-request.ts';

/** Rewrites one answer. */
export interface AnswerRewriter {
  /** What is written in the place of these bytes. */
  write(bytes: Uint8Array): Promise<string>;
  /** What is written at the end. */
  end(): Promise<string>;
  /** Whether nothing may follow. */
  readonly isOver: boolean;
}

/** Bytes that wait before the handler is asked to pause. */
const MAX_WAITING = 64 * 1024;

/**
 * Rewrites the answer of the handler behind it, if its type is wanted and `rewriterFor` returns a rewriter for its head. A length
 * that the handler declares is left out then.
 */
export function rewriteAnswer(
  res: ServerResponse,
  isWanted: (type: string) => boolean,
  rewriterFor: (head: AnswerHead) => AnswerRewriter | undefined,
): void {
  wrapWriteHead(res, (args, writeHead) => {
    if (!isWanted(headerIn(res, args, 'content-type') ?? '')) return writeHead(args);
    res.removeHeader('content-length');
    res.removeHeader('etag');
    writeHead(args.map(withoutLength));
  });
  onHead(res, (head, layer) => {
    const rewriter = rewriterFor(head);
    if (rewriter) new Rewriting(res, layer, rewriter).start();
  });
}

const MEASURES = /^(content-length|etag)$/i;

/** Headers as an object, as pairs, or as alternating names and values. */
function withoutLength(args: unknown): unknown {
  if (typeof args !== 'object' || args === null) return args;
  if (!Array.isArray(args)) return Object.fromEntries(Object.entries(args).filter(([name]) => !MEASURES.test(name)));
  if (Array.isArray(args[0])) return args.filter(([name]) => !MEASURES.test(String(name)));
  return args.filter((_, at) => !MEASURES.test(String(args[at - (at % 2)])));
}

/** The pieces of one answer, in order. */
class Rewriting {
  private readonly res: ServerResponse;
  private readonly layer: Layer;
  private readonly rewriter: AnswerRewriter;
  private readonly writeOn: Layer['write'];
  private readonly endOn: Layer['end'];
  private last: Promise<void> = Promise.resolve();
  private waiting = 0;
  private needsDrain = false;
  private hasEnded = false;

  constructor(res: ServerResponse, layer: Layer, rewriter: AnswerRewriter) {
    this.res = res;
    this.layer = layer;
    this.rewriter = rewriter;
    this.writeOn = layer.write;
    this.endOn = layer.end;
  }

  start(): void {
    // The casts: the overloads of both.
    this.layer.write = ((...args: unknown[]) => this.write(args)) as Layer['write'];
    this.layer.end = ((...args: unknown[]) => this.end(args)) as Layer['end'];
  }

  private write(args: readonly unknown[]): boolean {
    const bytes = chunkToBytes(args);
    this.waiting += bytes.byteLength;
    this.enqueue(async () => {
      const text = this.rewriter.isOver ? '' : await this.rewriter.write(bytes);
      this.waiting -= bytes.byteLength;
      await this.send(text);
    }, args);
    this.needsDrain = this.waiting > MAX_WAITING;
    return !this.needsDrain;
  }

  private end(args: readonly unknown[]): ServerResponse {
    const bytes = chunkToBytes(args);
    if (this.hasEnded) return this.res;
    this.hasEnded = true;
    this.enqueue(async () => {
      if (bytes.byteLength > 0 && !this.rewriter.isOver) await this.send(await this.rewriter.write(bytes));
      if (!this.rewriter.isOver) await this.send(await this.rewriter.end());
      const callback = args.at(-1);
      if (!isClosed(this.res))
        this.endOn.call(
          this.res,
          undefined,
          'utf8',
          typeof callback === 'function' ? (callback as () => void) : undefined,
        );
    });
    return this.res;
  }

  /**
   * A failure cannot be answered any more: the connection is broken off. The callback in the arguments of a write is called all
   * the same, and when the client has left: its handler may wait for it before it lets its model server go.
   */
  private enqueue(task: () => Promise<void>, args: readonly unknown[] = []): void {
    this.last = this.last
      .then(() => (isClosed(this.res) ? undefined : task()))
      .catch((error: Error) => void this.res.destroy(error))
      .then(() => {
        callBackSoon(args, isClosed(this.res) ? closedError() : null);
        this.drained();
      });
  }

  private drained(): void {
    if (!this.needsDrain || this.waiting > MAX_WAITING || isClosed(this.res)) return;
    this.needsDrain = false;
    this.res.emit('drain');
  }

  /** As fast as the client reads. */
  private async send(text: string): Promise<void> {
    if (text === '' || isClosed(this.res)) return;
    if (this.writeOn.call(this.res, text, 'utf8') || isClosed(this.res)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.res.off('drain', done);
        this.res.off('close', done);
        resolve();
      };
      this.res.on('drain', done);
      this.res.on('close', done);
    });
  }
}
