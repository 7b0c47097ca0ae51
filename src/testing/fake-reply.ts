/** The replies of the fake upstream: recorded bytes, and every fault of a network or a server. */
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** Bytes as text (sent as UTF-8) or as they are. */
export type FakeBytes = string | Uint8Array;

/** A response with a body. The faults may be combined. */
export interface FakeAnswer {
  /** 200 by default. */
  readonly status?: number;
  /** Added to a content type that is guessed from the body: an event stream, JSON, HTML or plain text. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body; each of several is written separately. */
  readonly body: FakeBytes | readonly FakeBytes[];
  /** Splits the body again: into bytes, or at these offsets in bytes. `whole`, the default, leaves it unchanged. */
  readonly split?: 'whole' | 'byte' | readonly number[];
  /** Milliseconds between two pieces. */
  readonly paceMs?: number;
  /** Milliseconds before the headers. */
  readonly delayMs?: number;
  /** Milliseconds between the headers and the first byte of the body. */
  readonly firstByteDelayMs?: number;
  /** Destroys the socket after so many bytes of the body, or after all of them, without the end of the message. */
  readonly cutAfterBytes?: number;
  /** Stops sending after so many bytes of the body, or after all of them, and leaves the connection open. */
  readonly stallAfterBytes?: number;
  /** Repeats the body until the client leaves, no faster than the client reads. */
  readonly endless?: boolean;
}

/** The fake upstream's action for one request: it answers, resets the connection, or accepts it and sends nothing. */
export type FakeReply =
  | FakeAnswer
  | {
      /** Resets the connection instead of sending headers. */
      readonly reset: 'before-headers';
    }
  | {
      /** Sends nothing, and leaves the connection open. */
      readonly hang: true;
    };

/** How a reply leaves its connection: message ended, connection left open, destroyed or reset. */
export type FakeEnding = 'end' | 'open' | 'destroy' | 'reset';

/**
 * Sends headers and body, and returns how the connection is to be left. Rejects with the signal's reason if the
 * client leaves before that.
 */
export async function playReply(reply: FakeReply, response: ServerResponse, left: AbortSignal): Promise<FakeEnding> {
  if ('hang' in reply) return 'open';
  if ('reset' in reply) return 'reset';
  await wait(reply.delayMs, left);
  sendHeaders(reply, response);
  await wait(reply.firstByteDelayMs, left);
  await sendBody(reply, response, left);
  if (reply.cutAfterBytes !== undefined) return 'destroy';
  return reply.stallAfterBytes === undefined ? 'end' : 'open';
}

async function wait(ms: number | undefined, left: AbortSignal): Promise<void> {
  if (ms) await pause(ms, undefined, { signal: left });
  left.throwIfAborted();
}

function sendHeaders({ status = 200, headers, body }: FakeAnswer, response: ServerResponse): void {
  response.setHeader('content-type', guessContentType(bodyChunks(body)));
  response.writeHead(status, headers);
  response.flushHeaders();
}

async function sendBody(reply: FakeAnswer, response: ServerResponse, left: AbortSignal): Promise<void> {
  const limit = Math.min(reply.cutAfterBytes ?? Infinity, reply.stallAfterBytes ?? Infinity);
  let pauseMs: number | undefined;
  // Two turns: called from a socket's event, the first one ends before any socket is read again.
  await nextTurn();
  await nextTurn();
  for (const piece of limitBytes(limit, bodyPieces(reply))) {
    await wait(pauseMs, left);
    await writePiece(response, piece);
    // So that a client can read this piece before the next one is written.
    await nextTurn();
    pauseMs = reply.paceMs;
  }
}

/** Resolves when the kernel has the bytes, so a slow reader holds the writer back. */
function writePiece(response: ServerResponse, piece: Uint8Array): Promise<void> {
  // An error is not reported here: it means that the client left, which the signal reports a moment later.
  return new Promise((resolve) => {
    response.write(piece, () => resolve());
  });
}

function* limitBytes(limit: number, pieces: Iterable<Uint8Array>): Iterable<Uint8Array> {
  let room = limit;
  for (const piece of pieces) {
    if (room > 0) yield piece.subarray(0, room);
    room -= piece.length;
    if (room <= 0) return;
  }
}

function* bodyPieces({ body, split = 'whole', endless = false }: FakeAnswer): Iterable<Uint8Array> {
  const chunks = bodyChunks(body);
  do yield* split === 'whole' ? chunks : splitBytes(Buffer.concat(chunks), split);
  while (endless && chunks.length > 0);
}

function* splitBytes(bytes: Buffer, split: 'byte' | readonly number[]): Iterable<Uint8Array> {
  const ends = split === 'byte' ? bytes.keys() : split.toSorted((one, other) => one - other);
  let start = 0;
  for (const end of ends) {
    if (end <= start) continue;
    yield bytes.subarray(start, end);
    start = end;
  }
  if (start < bytes.length) yield bytes.subarray(start);
}

function bodyChunks(body: FakeAnswer['body']): readonly Buffer[] {
  const chunks = typeof body === 'string' || body instanceof Uint8Array ? [body] : body;
  // Without empty ones, so that an endlessly repeated empty body ends instead of looping without a write.
  return chunks.map((chunk) => Buffer.from(chunk)).filter(({ length }) => length > 0);
}

function guessContentType(chunks: readonly Buffer[]): string {
  const start = Buffer.concat(chunks).toString('utf8', 0, 64).trimStart();
  if (start === '' || /^(data|event|id|retry)?:/.test(start)) return 'text/event-stream';
  if (/^[{[]/.test(start)) return 'application/json';
  return start.startsWith('<') ? 'text/html' : 'text/plain';
}
