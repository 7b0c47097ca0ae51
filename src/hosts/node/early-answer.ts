/** Opens the event stream of a handler that has not answered yet, and puts into it what the handler answers later. */
import { ServerResponse } from 'node:http';
import { DECODERS, type Decoder } from '../../streams/decoders.ts';
import { callBackSoon, chunkToBytes, isEventStream } from './event-stream.ts';
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

/** Bytes of a refusal that are held. */
const MAX_REFUSAL_BYTES = 64 * 1024;

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

/** What goes out in front of a head, and would now be in the middle of the stream. */
const INFORMATION_METHODS = ['writeContinue', 'writeProcessing', 'writeEarlyHints'] as const;

/** An answer that may be opened before its handler answers; until it is opened every call passes unchanged. */
export class EarlyAnswer {
  private readonly res: ServerResponse;
  private readonly front: Pick<ServerResponse, 'writeHead' | 'write' | 'end'>;
  private opening: Opening | undefined = undefined;
  /** Whether a layer in front of this one is being called: it must see that the head has been sent. */
  private isInFront = false;
  private hasHead = false;
  private isStream = false;
  private inflate: Decoder | undefined = undefined;
  private readonly refusal: Uint8Array[] = [];
  private refusalBytes = 0;

  constructor(res: ServerResponse) {
    this.res = res;
    this.front = { writeHead: res.writeHead.bind(res), write: res.write.bind(res), end: res.end.bind(res) };
    // The casts: the overloads of all three are passed on unchanged.
    res.writeHead = ((...args: unknown[]) => {
      if (this.opening) this.takeHead(args);
      else this.front.writeHead(...(args as Parameters<ServerResponse['writeHead']>));
      return res;
    }) as ServerResponse['writeHead'];
    res.write = ((...args: unknown[]) => (this.opening ? this.take(args) : this.pass(args))) as ServerResponse['write'];
    res.end = ((...args: unknown[]) => {
      if (this.opening) this.takeEnd(args);
      else this.front.end(...(args as Parameters<ServerResponse['end']>));
      return res;
    }) as ServerResponse['end'];
  }

  /** Opens the stream; false if there is something of an answer already. */
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

  /** Writes this if the handler has not answered yet. */
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
    // The cast: a header that is set has a value. Over HTTP/2 the status is one, too, which may not be set.
    for (const name of res.getHeaderNames())
      if (!name.startsWith(':')) shadow.setHeader(name, res.getHeader(name) as string);
    // The cast: each takes what the method of the same name takes.
    for (const name of HEADER_METHODS) Object.assign(res, { [name]: (shadow[name] as () => unknown).bind(shadow) });
    for (const name of INFORMATION_METHODS) Object.assign(res, { [name]: (...args: unknown[]) => callBackSoon(args) });
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

  private takeHead(args: readonly unknown[]): void {
    const { res } = this;
    if (this.hasHead) throw new Error('The head of the answer has been written already.');
    const [status] = args;
    if (typeof status === 'number') res.statusCode = status;
    const type = headerIn(res, args, 'content-type') ?? '';
    const encoding = (headerIn(res, args, 'content-encoding') ?? 'identity').toLowerCase();
    this.hasHead = true;
    const makeInflate = DECODERS.get(encoding);
    this.isStream = res.statusCode === 200 && isEventStream({ type, plain: true });
    if (encoding !== 'identity' && makeInflate) this.inflateWith(makeInflate());
    else if (encoding !== 'identity') this.isStream = false;
  }

  /** The stream is open in plain text, whatever the handler's server compresses. */
  private inflateWith(inflate: Decoder): void {
    this.inflate = inflate;
    const { res } = this;
    // A little of it may be much text: it is inflated only as fast as the client reads.
    inflate.on('data', (bytes: Uint8Array) => {
      if (!this.takePlain([bytes])) inflate.pause();
    });
    res.on('drain', () => {
      if (!res.writableNeedDrain) inflate.resume();
    });
    inflate.on('end', () => this.endPlain());
    inflate.on('drain', () => res.emit('drain'));
    inflate.on('error', (error: Error) => res.destroy(error));
    res.once('close', () => inflate.destroy());
  }

  private take(args: readonly unknown[]): boolean {
    if (!this.hasHead) this.res.writeHead(this.res.statusCode);
    const { inflate } = this;
    if (!inflate) return this.takePlain(args);
    callBackSoon(args);
    return inflate.write(chunkToBytes(args));
  }

  private takePlain(args: readonly unknown[]): boolean {
    if (this.isStream) return this.pass(args);
    const bytes = chunkToBytes(args);
    if (this.refusalBytes < MAX_REFUSAL_BYTES)
      this.refusal.push(Uint8Array.from(bytes.subarray(0, MAX_REFUSAL_BYTES - this.refusalBytes)));
    this.refusalBytes += bytes.byteLength;
    if (!this.inflate) callBackSoon(args);
    return true;
  }

  private takeEnd(args: readonly unknown[]): void {
    const { inflate } = this;
    if (inflate) {
      callBackSoon(args);
      return void inflate.end(chunkToBytes(args));
    }
    if (this.hasHead && this.isStream) {
      this.inFront(() => this.front.end(...(args as unknown as Parameters<ServerResponse['end']>)));
      return;
    }
    this.takePlain([chunkToBytes(args)]);
    callBackSoon(args);
    this.endPlain();
  }

  private endPlain(): void {
    this.hasHead = true;
    const { res, opening, isStream } = this;
    if (res.destroyed || res.writableEnded) return;
    const text = Buffer.concat(this.refusal).toString('utf8');
    const events = isStream ? undefined : opening?.eventsFor({ status: res.statusCode, text });
    this.inFront(() => this.front.end(events));
  }

  private pass(args: readonly unknown[]): boolean {
    if (!this.opening) return this.front.write(...(args as Parameters<ServerResponse['write']>));
    return this.inFront(() => this.front.write(...(args as Parameters<ServerResponse['write']>)));
  }
}
