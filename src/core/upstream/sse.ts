/** Reads an event stream from a socket: bytes in, batches of event data out, one batch for each turn of the event loop in which some arrived. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { ApiError } from '../errors.ts';
import { handOver, type Sink } from '../pieces.ts';

/** Bytes or characters that wait here above which the socket is paused. */
const HIGH_WATER = 64 * 1024;
/** Bytes of one read that may wait for the other sockets; more would grow old in memory meanwhile, a tenth of a burst's time. */
const SMALL = 8 * 1024;
/** What the framing of an event may add to its data before the parser gives up on it. */
const FRAMING = 1024;
/** How long a stream that said it was done may take to end before its socket is given up, in milliseconds. */
const LINGER_MS = 1000;

/** How events are read. */
export interface SseOptions {
  /** UTF-8 bytes of one event's data. */
  readonly eventBytes: number;
  /** After this many milliseconds one empty batch says that the stream is open, whether or not anything was said. */
  readonly quietMs: number;
  /** Called for each read, comments included. */
  readonly onBytes: () => void;
}

/** The events of one body, as they arrive. */
export interface Inbox {
  /** Asks for the data of the events since the last time. */
  ask(sink: Sink<readonly string[]>): void;
  /** Reads no more; a body that has ended gives its connection back. */
  close(): void;
}

/**
 * Reads the data of the events, only as fast as it is asked for. Fails with what the body fails with, and with
 * `upstream_error` for an event over the limit. The end is the body's; a last event without its blank line counts.
 */
export function openInbox(body: Readable, { eventBytes, quietMs, onBytes }: SseOptions): Inbox {
  const decoder = new StringDecoder('utf8');
  let unread: Buffer[] = [];
  let unreadBytes = 0;
  let events: string[] = [];
  let characters = 0;
  let ended = false;
  let failure: unknown;
  let waiting: Sink<readonly string[]> | undefined;
  let quiet = false;

  /** Hands what there is to whoever waits for it. */
  const settle = () => {
    const sink = waiting;
    waiting = undefined;
    if (!sink) return;
    if (events.length > 0 || !ended) handOver(sink, takeEvents());
    else if (failure) sink.failed(failure);
    else sink.ended();
  };
  const takeEvents = () => {
    const batch = events;
    events = [];
    characters = 0;
    quiet = false;
    body.resume();
    return batch;
  };
  const fail = (error: unknown) => {
    failure ??= error;
    ended = true;
    settle();
  };
  const parser = createParser({
    maxBufferSize: eventBytes + FRAMING,
    onEvent({ data }) {
      if (ended) return;
      if (data.length * 3 > eventBytes && Buffer.byteLength(data) > eventBytes) return fail(eventTooLarge());
      events.push(data);
      characters += data.length;
    },
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') fail(eventTooLarge());
    },
  });

  /** All that has been read, decoded and parsed at once: the HTTP parser calls back once for every HTTP chunk. */
  const take = () => {
    if (unread.length === 0) return;
    const bytes = unread.length === 1 ? (unread[0] as Buffer) : Buffer.concat(unread);
    unread = [];
    unreadBytes = 0;
    onBytes();
    if (ended) return;
    parser.feed(decoder.write(bytes));
    if (events.length > 0) settle();
    if (characters > HIGH_WATER) body.pause();
    else body.resume();
  };
  body.on('data', (chunk: Buffer) => {
    if (unread.length === 0) afterReads(take);
    const wasSmall = unreadBytes <= SMALL;
    unread.push(chunk);
    unreadBytes += chunk.length;
    if (wasSmall && unreadBytes > SMALL) queueMicrotask(take);
    // One socket may be read many times before the others get their turn.
    if (unreadBytes > HIGH_WATER) body.pause();
  });
  body.once('error', (error) => {
    take();
    fail(error);
  });
  body.once('end', () => {
    take();
    if (!ended) parser.feed(`${decoder.end()}\n\n`);
    ended = true;
    settle();
  });

  const timer = setTimeout(() => {
    quiet = true;
    settle();
  }, quietMs);

  return {
    ask(sink) {
      waiting = sink;
      if (events.length > 0 || ended || quiet) settle();
    },
    close() {
      clearTimeout(timer);
      letEnd(body);
    },
  };
}

/** Those that have read something in this turn of the event loop. */
let readers: (() => void)[] = [];

/**
 * Runs `take` when every socket that had something was read. Doing the same for all streams in a row, not read and write
 * of each by itself, keeps code and data in the caches: a sixth of the time where 200 models say a token each.
 */
function afterReads(take: () => void): void {
  if (readers.length === 0) setImmediate(takeAll);
  readers.push(take);
}

function takeAll(): void {
  const taking = readers;
  readers = [];
  for (const take of taking) take();
}

/** A body that has ended gives its connection back to the pool; one that has not within the time is cut. */
function letEnd(body: Readable): void {
  if (body.readableEnded || body.destroyed) return;
  body.on('error', () => {});
  body.resume();
  const timer = setTimeout(() => body.destroy(), LINGER_MS).unref();
  body.once('close', () => clearTimeout(timer));
}

function eventTooLarge(): ApiError {
  return new ApiError('upstream_error', "The model server sent an event over this server's limit.");
}
