/** One request to a server, through undici's `dispatch`. */
import type { Dispatcher, Pool } from 'undici';
import { type ByteReader, type Bytes, DISCARD, linger } from '../../../streams/bytes.ts';
import type { Stop, Stoppable } from './watchdog.ts';

/** The response of a server, whatever its status. */
export interface Answered {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Bytes;
}

/** Names are lower case. */
type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Resolves when the head of the response has arrived. */
export function dispatch(pool: Pool, options: Dispatcher.DispatchOptions, stop: Stop): Promise<Answered> {
  return new Promise((resolve, reject) => {
    if (stop.aborted) return reject(stop.reason);
    const handler = new AnswerHandler(resolve, reject);
    stop.running = handler;
    pool.dispatch(options, handler);
  });
}

/** One undici request and the bytes of its response, without the five objects of `pool.request`, among them a `Readable`. */
class AnswerHandler implements Dispatcher.DispatchHandler, Answered, Bytes, Stoppable {
  status = 0;
  headers: AnswerHeaders = {};
  private readonly resolve: (answer: Answered) => void;
  private readonly reject: (error: unknown) => void;
  private controller: Dispatcher.DispatchController | undefined = undefined;
  private reader: ByteReader | undefined = undefined;
  /** Data that arrived with the head, before there was a reader. */
  private early: Buffer[] | undefined = undefined;
  private over = false;
  private failure: unknown = undefined;
  private isStopped = false;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(resolve: (answer: Answered) => void, reject: (error: unknown) => void) {
    this.resolve = resolve;
    this.reject = reject;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // The request was stopped while it waited for a connection.
    if (this.isStopped) controller.abort(this.failure as Error);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // A stream would keep them, and the socket buffer that contains them, until its end.
    controller.rawHeaders = null;
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    this.resolve(this);
  }

  get body(): Bytes {
    return this;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.reader) return this.reader.bytes(chunk);
    this.early ??= [];
    this.early.push(chunk);
  }

  onResponseEnd(): void {
    this.end();
    this.reader?.ended();
  }

  onResponseError(_: Dispatcher.DispatchController, error: unknown): void {
    this.end();
    this.failure = error;
    this.reject(error);
    this.reader?.failed(error);
  }

  stopped(reason: unknown): void {
    if (this.over) return;
    this.isStopped = true;
    this.failure = reason;
    // The cast, here and above: undici passes on any value.
    this.controller?.abort(reason as Error);
    this.reject(reason);
  }

  readBy(reader: ByteReader): void {
    this.reader = reader;
    for (const chunk of this.early ?? []) reader.bytes(chunk);
    this.early = undefined;
    if (!this.over) return;
    if (this.failure === undefined) reader.ended();
    else reader.failed(this.failure);
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  close(): void {
    this.reader = DISCARD;
    this.early = undefined;
    if (this.over) return;
    this.timer = linger(() => this.controller?.abort(new Error('Nobody reads it.')));
    this.resume();
  }

  private end(): void {
    this.over = true;
    clearTimeout(this.timer);
  }
}
