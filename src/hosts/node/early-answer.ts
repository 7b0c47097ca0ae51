/** Opens the event stream of a handler that has not answered yet, and puts into it what the handler answers later. */
import { ServerResponse } from 'node:http';
import { createBrotliDecompress, createGunzip, createInflate, type Gunzip } from 'node:zlib';
import { bytesOf } from './bytes-of.ts';
import { isEventStream } from './event-stream.ts';
import { headerIn } from './node-body.ts';

/** An answer that does not go into an event stream as it is. */
export interface OtherAnswer {
  readonly status: number;
  /** Its body as far as it is kept, in UTF-8. */
  readonly text: string;
}

/** How the stream is opened. */
interface Opening {
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes; none where they are empty. */
  readonly first: string;
  /** The events that stand for an answer that is no event stream, such as a refusal. */
  readonly eventsFor: (answer: OtherAnswer) => string;
}

/** An answer that may be opened before its handler answers. */
interface EarlyAnswer {
  /** Opens the stream; false if there is something of an answer already. */
  open(opening: Opening): boolean;
  /** Writes this if the handler has not answered yet. */
  fill(frame: string): void;
}

/** Bytes of a refusal that are kept. */
const MAX_KEPT = 64 * 1024;

/** The methods that would throw, or answer wrongly, once the head has been sent. */
const HEADER_METHODS = [
  'setHeader',
  'setHeaders',
  'appendHeader',
  'getHeader',
  'getHeaders',
  'getHeaderNames',
  'hasHeader',
  'removeHeader',
] as const;

const INFLATES: Readonly<Record<string, () => Pick<Gunzip, 'write' | 'end' | 'on' | 'destroy'>>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Prepares it; until it is opened every call passes unchanged. */
export function earlyAnswer(res: ServerResponse): EarlyAnswer {
  return new Early(res);
}

class Early implements EarlyAnswer {
  private readonly res: ServerResponse;
  private readonly front: Pick<ServerResponse, 'writeHead' | 'write' | 'end'>;
  private opening: Opening | undefined = undefined;
  /** Whether a layer in front of this one is being called: it must see that the head has been sent. */
  private isInFront = false;
  private hasHead = false;
  private isStream = false;
  private inflate: ReturnType<(typeof INFLATES)[string]> | undefined = undefined;
  private readonly kept: Uint8Array[] = [];
  private keptBytes = 0;

  constructor(res: ServerResponse) {
    this.res = res;
    this.front = { writeHead: res.writeHead.bind(res), write: res.write.bind(res), end: res.end.bind(res) };
    // The casts: the overloads of all three are passed on unchanged.
    res.writeHead = ((...given: unknown[]) => {
      if (this.opening) this.takeHead(given);
      else this.front.writeHead(...(given as Parameters<ServerResponse['writeHead']>));
      return res;
    }) as ServerResponse['writeHead'];
    res.write = ((...given: unknown[]) =>
      this.opening ? this.take(given) : this.pass(given)) as ServerResponse['write'];
    res.end = ((...given: unknown[]) => {
      if (this.opening) this.takeEnd(given);
      else this.front.end(...(given as Parameters<ServerResponse['end']>));
      return res;
    }) as ServerResponse['end'];
  }

  open(opening: Opening): boolean {
    const { res } = this;
    if (this.opening || res.headersSent || res.writableEnded || res.destroyed) return false;
    const { statusCode, writeHead } = res;
    this.inFront(() => this.front.writeHead(200, { ...opening.headers }));
    // Layers in front take their own `writeHead` away when they are called, and with it those of the layers behind.
    res.writeHead = writeHead;
    this.opening = opening;
    // What the handler sets from now on describes its own answer.
    res.statusCode = statusCode;
    this.hideHead();
    this.fill(opening.first);
    return true;
  }

  fill(frame: string): void {
    const { res } = this;
    if (!this.opening || this.hasHead || res.writableEnded || res.destroyed || res.writableNeedDrain) return;
    if (frame !== '') this.inFront(() => this.front.write(frame, 'utf8'));
  }

  /** Until the handler has written its own head, none seems to have been sent. */
  private hideHead(): void {
    const { res } = this;
    // Before `flushHeaders` is replaced: where nothing is written, the headers go out all the same.
    res.flushHeaders();
    const shadow = new ServerResponse(res.req);
    // The cast: a header that is set has a value.
    for (const name of res.getHeaderNames()) shadow.setHeader(name, res.getHeader(name) as string);
    // The cast: each takes what the method of the same name takes.
    for (const name of HEADER_METHODS) Object.assign(res, { [name]: (shadow[name] as () => unknown).bind(shadow) });
    res.flushHeaders = () => {
      if (!res.headersSent) res.writeHead(res.statusCode);
    };
    Object.defineProperty(res, 'headersSent', { configurable: true, get: () => this.hasHead || this.isInFront });
  }

  private inFront<Result>(call: () => Result): Result {
    this.isInFront = true;
    try {
      return call();
    } finally {
      this.isInFront = false;
    }
  }

  private takeHead(given: readonly unknown[]): void {
    const { res } = this;
    if (this.hasHead) throw new Error('The head of the answer has been written already.');
    const [status] = given;
    if (typeof status === 'number') res.statusCode = status;
    const type = headerIn(res, given, 'content-type') ?? '';
    const encoding = (headerIn(res, given, 'content-encoding') ?? 'identity').toLowerCase();
    this.hasHead = true;
    const makeInflate = INFLATES[encoding];
    this.isStream = res.statusCode === 200 && isEventStream({ type, plain: true });
    if (encoding !== 'identity' && makeInflate) this.inflateWith(makeInflate());
    else if (encoding !== 'identity') this.isStream = false;
  }

  /** The stream is open in plain text, whatever the handler's server compresses. */
  private inflateWith(inflate: ReturnType<(typeof INFLATES)[string]>): void {
    this.inflate = inflate;
    inflate.on('data', (bytes: Uint8Array) => this.takePlain([bytes]));
    inflate.on('end', () => this.endPlain());
    inflate.on('drain', () => this.res.emit('drain'));
    inflate.on('error', (error: Error) => this.res.destroy(error));
    this.res.once('close', () => inflate.destroy());
  }

  private take(given: readonly unknown[]): boolean {
    if (!this.hasHead) this.res.writeHead(this.res.statusCode);
    const { inflate } = this;
    if (!inflate) return this.takePlain(given);
    callBack(given);
    return inflate.write(bytesOf(given));
  }

  private takePlain(given: readonly unknown[]): boolean {
    if (this.isStream) return this.pass(given);
    const bytes = bytesOf(given);
    if (this.keptBytes < MAX_KEPT) this.kept.push(Uint8Array.from(bytes.subarray(0, MAX_KEPT - this.keptBytes)));
    this.keptBytes += bytes.byteLength;
    if (!this.inflate) callBack(given);
    return true;
  }

  private takeEnd(given: readonly unknown[]): void {
    const { inflate } = this;
    if (inflate) {
      callBack(given);
      return void inflate.end(bytesOf(given));
    }
    if (this.hasHead && this.isStream) {
      this.inFront(() => this.front.end(...(given as unknown as Parameters<ServerResponse['end']>)));
      return;
    }
    this.takePlain([bytesOf(given)]);
    callBack(given);
    this.endPlain();
  }

  private endPlain(): void {
    this.hasHead = true;
    const { res, opening, isStream } = this;
    if (res.destroyed || res.writableEnded) return;
    const text = Buffer.concat(this.kept).toString('utf8');
    const events = isStream ? undefined : opening?.eventsFor({ status: res.statusCode, text });
    this.inFront(() => this.front.end(events));
  }

  private pass(given: readonly unknown[]): boolean {
    if (!this.opening) return this.front.write(...(given as Parameters<ServerResponse['write']>));
    return this.inFront(() => this.front.write(...(given as Parameters<ServerResponse['write']>)));
  }
}

function callBack(given: readonly unknown[]): void {
  const callback = given.at(-1);
  if (typeof callback === 'function') process.nextTick(() => callback(null));
}
