/** Reads an event stream from a socket: bytes in, batches of event data out, one batch for each turn of the event loop in which some arrived. */
import { AsyncResource } from 'node:async_hooks';
import { createParser, type EventSourceParser } from 'eventsource-parser';
import { ApiError } from '../protocol/errors.ts';
import { objectIn } from '../protocol/json/json-text.ts';
import type { ByteReader, Bytes } from './bytes.ts';
import { eventLines, splitEvents } from './event-lines.ts';
import { type Consumer, deliver } from './pull-stream.ts';
import { isDone } from './sse-frames.ts';

/**
 * Bytes that may wait here. Above this limit the socket is paused: with 64 KiB, thirty clients that do not read take 20
 * MB more. Bytes read from one socket are also parsed without waiting for other sockets, since they would move to the
 * old generation meanwhile, a tenth of a burst's time.
 */
const HIGH_WATER = 8 * 1024;
/** What the framing of an event may add to its data before the parser rejects it. */
const FRAMING = 1024;

/** Characters that are kept from the beginning of a body without events. */
const HEAD = 4096;

const LF = 10;
const CR = 13;

/** Settings of the reader. */
export interface SseOptions {
  /** UTF-8 bytes of one event's data. */
  readonly eventBytes: number;
  /** After this many milliseconds one empty batch reports that the stream is open, whether or not anything arrived. */
  readonly quietMs: number;
  /** Called for each read, including comments. */
  readonly onBytes: () => void;
  /** Receives the bytes before they are parsed. */
  readonly tap?: ((bytes: Buffer) => void) | undefined;
}

/** The events of one body, as they arrive. */
export interface Inbox {
  /** Pulls the data of the events since the last pull; errors are data that says so, however they are written. */
  pull(consumer: Consumer<readonly string[]>): void;
  /** Stops reading; a body that has ended frees its connection for reuse. */
  close(): void;
  /** The beginning of the body, as long as no event has arrived. */
  readonly head: string;
}

/**
 * Reads the data of the events, only as fast as it is pulled. Fails with the body's own error, and with
 * `upstream_error` for an event over the limit. The end is the body's; a last event without its blank line counts.
 */
export function openInbox(body: Bytes, options: SseOptions): Inbox {
  return new EventInbox(body, options);
}

/**
 * An `AsyncResource`: data may arrive in the context of any request that shares the socket or the turn of the loop.
 * Data that is not pulled stays bytes, outside of V8's heap: as text and events it would be copied there, and move to
 * the old generation.
 */
class EventInbox extends AsyncResource implements Inbox, ByteReader {
  private readonly body: Bytes;
  private readonly eventBytes: number;
  private readonly onBytes: () => void;
  private readonly tap: SseOptions['tap'];
  private readonly parser: EventSourceParser;
  private readonly normalizeLines = eventLines();
  private readonly timer: NodeJS.Timeout;
  private unread: Buffer[] = [];
  private unreadBytes = 0;
  /** The start of a line that has not ended. */
  private line: Buffer[] = [];
  private lineBytes = 0;
  private isWaiting = false;
  private isPaused = false;
  private hasEnded = false;
  private events: string[] = [];
  head = '';
  private hasEvents = false;
  private isOver = false;
  private failure: unknown = undefined;
  private consumer: Consumer<readonly string[]> | undefined = undefined;
  private isQuiet = false;

  constructor(body: Bytes, { eventBytes, quietMs, onBytes, tap }: SseOptions) {
    super('EVENT_STREAM');
    this.body = body;
    this.eventBytes = eventBytes;
    this.onBytes = onBytes;
    this.tap = tap;
    this.parser = createParser({
      maxBufferSize: eventBytes + FRAMING,
      onEvent: ({ data, event }) => this.takeEvent(data, event),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') this.failTooLarge();
      },
    });
    this.timer = setTimeout(beQuiet, quietMs, this);
    body.readBy(this);
  }

  pull(consumer: Consumer<readonly string[]>): void {
    this.consumer = consumer;
    // `take` is already scheduled.
    if (this.isWaiting) return;
    if (this.unread.length > 0 || this.hasEnded || this.isOver) this.continueReading();
    else if (this.isQuiet) this.settle();
  }

  close(): void {
    clearTimeout(this.timer);
    this.isOver = true;
    this.consumer = undefined;
    this.body.close();
  }

  bytes(chunk: Buffer): void {
    this.wait();
    const wasLow = this.unreadBytes <= HIGH_WATER;
    this.unread.push(chunk);
    this.unreadBytes += chunk.length;
    if (this.unreadBytes <= HIGH_WATER) return;
    if (wasLow) queueMicrotask(() => this.take());
    // One socket may be read many times before the others are.
    this.pause();
  }

  ended(): void {
    this.hasEnded = true;
    this.wait();
  }

  failed(error: unknown): void {
    this.failure ??= error;
    this.ended();
  }

  take(): void {
    this.isWaiting = false;
    const hasArrived = this.unread.length > 0;
    if (this.consumer) this.continueReading();
    // Many an answer is over with its first bytes, and need not be watched any more.
    if (hasArrived && !this.isOver) this.onBytes();
  }

  beQuiet(): void {
    this.isQuiet = true;
    this.settle();
  }

  private wait(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    afterReads(this);
  }

  private continueReading(): void {
    if (this.unread.length > 0 && !this.isOver) this.read();
    if (this.hasEnded && !this.isOver) this.end();
    if (this.events.length > 0 || this.isOver) this.settle();
    this.resume();
  }

  /** Decodes and parses all whole lines at once: the HTTP parser calls back once for every HTTP chunk. */
  private read(): void {
    const bytes = concatBytes(this.unread);
    this.unread = [];
    this.unreadBytes = 0;
    this.tap?.(bytes);
    const end = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
    if (end === 0) return this.hold(bytes);
    const lines = this.normalizeLines(wholeLines(concatBytes([...this.line, bytes.subarray(0, end)])));
    this.line = [];
    this.lineBytes = 0;
    this.feed(lines);
    // A copy, since the few bytes would keep the whole chunk in memory.
    if (end < bytes.length) this.hold(Buffer.from(bytes.subarray(end)));
  }

  private hold(bytes: Buffer): void {
    this.lineBytes += bytes.length;
    let piece = bytes;
    // A line of single bytes would take a hundred times its length.
    while ((this.line.at(-1)?.length ?? Infinity) <= piece.length)
      piece = concatBytes([this.line.pop() as Buffer, piece]);
    this.line.push(piece);
    if (this.lineBytes > this.eventBytes + FRAMING) this.failTooLarge();
  }

  private end(): void {
    if (!this.failure) this.feed(`${wholeLines(concatBytes(this.line))}\n\n`);
    this.isOver = true;
  }

  private feed(text: string): void {
    if (!this.hasEvents && this.head.length < HEAD) this.head += text.slice(0, HEAD - this.head.length);
    this.parser.feed(text);
  }

  private takeEvent(data: string, name: string | undefined): void {
    if (this.isOver) return;
    if (data.length * 3 > this.eventBytes && Buffer.byteLength(data) > this.eventBytes) return this.failTooLarge();
    if (!this.hasEvents) this.head = '';
    this.hasEvents = true;
    if (name === 'error') this.takeError(data);
    else if (!data.includes('\n')) this.events.push(data);
    else for (const each of splitEvents(data)) this.events.push(each);
  }

  /** Data that says itself what it is stays: an error, or what stood in front of the event's name without a blank line. */
  private takeError(data: string): void {
    for (const each of splitEvents(data)) {
      const body = objectIn(each);
      const isPlain = isDone(each) || body?.error || body?.choices || body?.type === 'error';
      this.events.push(isPlain ? each : JSON.stringify({ type: 'error', error: body ?? { message: each } }));
    }
  }

  private failTooLarge(): void {
    this.failure ??= new ApiError('upstream_error', "The model server sent an event over this server's limit.");
    this.isOver = true;
  }

  private settle(): void {
    if (this.consumer) this.runInAsyncScope(this.emit, this);
  }

  /** Passes the available data to the pending pull. */
  private emit(): void {
    const consumer = this.consumer as Consumer<readonly string[]>;
    this.consumer = undefined;
    const batch = this.events;
    this.events = [];
    this.isQuiet = false;
    if (batch.length > 0 || !this.isOver) deliver(consumer, batch);
    else if (this.failure) consumer.onError(this.failure);
    else consumer.onEnd();
  }

  private pause(): void {
    this.isPaused = true;
    this.body.pause();
  }

  private resume(): void {
    if (!this.isPaused || this.unreadBytes > HIGH_WATER) return;
    this.isPaused = false;
    this.body.resume();
  }
}

/**
 * The text of whole lines. Earlier versions of llama.cpp write an error as a line of the field `error`, which no parser
 * passes on: it becomes data.
 */
function wholeLines(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('error:') ? text.replace(/(^|[\r\n])error: ?(\{[^\r\n]*)/g, '$1data: {"error":$2}') : text;
}

function concatBytes(bytes: Buffer[]): Buffer {
  return bytes.length === 1 ? (bytes[0] as Buffer) : Buffer.concat(bytes);
}

function beQuiet(inbox: EventInbox): void {
  inbox.beQuiet();
}

/** The readers that have received something in this turn of the event loop. */
let readers: EventInbox[] = [];

/**
 * Calls its `take` once all sockets with data have been read. Doing the same work for all streams in a row, not read
 * and write of each by itself, keeps code and data in the caches: a sixth of the time where 200 models send a token
 * each.
 */
function afterReads(inbox: EventInbox): void {
  if (readers.length === 0) setImmediate(readAllInboxes);
  readers.push(inbox);
}

function readAllInboxes(): void {
  const taking = readers;
  readers = [];
  for (const inbox of taking) inbox.take();
}
