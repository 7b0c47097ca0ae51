/** Writes a reply to a Node response: the only file that writes to a client's socket. */
import { AsyncResource } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Reply } from '../../protocol/reply.ts';
import type { UnreadAnswer } from '../../server/requests/body-room.ts';
import { type Consumer, closeThen, type PullStream, toPullStream } from '../../streams/pull-stream.ts';
import { isClosed, takeOverAnswer } from './node-request.ts';
import { unreadAnswer } from './unread-answer.ts';

/** Length above which frames are written as bytes, which garbage collection does not copy while they wait. */
const LONG = 4096;
/** The buffer in which long frames become bytes before they are copied: `Buffer.from` counts first, half of its cost. */
const SCRATCH = Buffer.allocUnsafeSlow(256 * 1024);
/** Maximum number of bytes of a UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * Sends the reply. A stream is pulled only as fast as the client reads. Resolves when everything has been passed to the
 * socket or the client has left. A stream that fails is cut off, so that the client does not wait; then it rejects.
 */
export async function respond(res: ServerResponse, { status, headers, body, bytes }: Reply): Promise<void> {
  if (res.headersSent || isClosed(res)) {
    // The host has already begun an answer and left its end to this reply, which can no longer be sent.
    if (!res.writableEnded) res.destroy();
    return closeUnread(bytes ?? body);
  }
  // A stream is this package's only when its end is: until then the host may end it.
  if (bytes || typeof body === 'string') takeOverAnswer(res);
  if (bytes) return sendBytes(res.writeHead(status, headers), bytes);
  if (typeof body === 'string') {
    const length = Buffer.byteLength(body);
    res.writeHead(status, { ...headers, 'content-length': length }).end(body);
    if (!res.writableFinished && res.writableLength > LONG) {
      // What the socket has not taken waits for the client.
      const unread = unreadAnswer(res);
      const end = () => unread.end();
      res.once('finish', end).once('close', end);
      unread.begin(length);
    }
    return;
  }
  try {
    res.writeHead(status, headers);
  } catch (error) {
    await closeUnread(body);
    throw error;
  }
  try {
    const frames = toPullStream(body);
    await new Promise<void>((resolve, reject) => new Writing(res, frames, resolve, reject).pull());
  } catch (error) {
    if (isClosed(res)) return;
    res.destroy();
    throw error;
  }
  if (isClosed(res)) return;
  takeOverAnswer(res);
  res.end();
}

/** Reads no faster than the client, and nothing for a HEAD. Content that fails cuts the answer off. */
async function sendBytes(res: ServerResponse, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  if (res.req.method === 'HEAD') {
    res.end();
    return closeUnread(bytes);
  }
  let isGone = isClosed(res);
  let resume = () => {};
  let unread: UnreadAnswer | undefined;
  res.on('error', ignoreError);
  res.once('close', () => {
    isGone = true;
    resume();
  });
  try {
    // By hand: a `Readable` and a pipeline cost as much as all else of a short answer.
    for await (const piece of bytes) {
      if (isGone) return;
      if (!res.write(piece)) {
        unread ??= unreadAnswer(res);
        unread.begin(res.writableLength);
        await new Promise<void>((resolve) => {
          resume = resolve;
          res.once('drain', resolve);
        });
        unread.end();
      }
      if (isGone) return;
    }
  } catch (error) {
    // Where the content did not fail, the client has left.
    if (isGone) return;
    res.destroy();
    if (error instanceof Error && error.name === 'AbortError') return;
    throw error;
  }
  if (!isGone) res.end();
}

/** Writes piece by piece; ends when the client has left too. An `AsyncResource`: on drain the stream continues in the host's async context, which is not the socket's. */
class Writing extends AsyncResource implements Consumer<string> {
  private readonly res: ServerResponse;
  private readonly body: PullStream<string>;
  readonly onEnd: () => void;
  readonly onError: (error: unknown) => void;
  /** Avoids `res.destroyed` for each piece: on Node 20 every Express response has its own hidden class, so look-ups are slow. */
  private isGone: boolean;
  private unread: UnreadAnswer | undefined = undefined;

  constructor(res: ServerResponse, body: PullStream<string>, resolve: () => void, reject: (error: unknown) => void) {
    super('CLIENT_WRITES');
    this.res = res;
    this.body = body;
    this.onEnd = resolve;
    this.onError = reject;
    this.isGone = isClosed(res);
    // The host may end the answer at any time; a piece that comes before the last byte has gone out would throw.
    res.on('error', ignoreError);
    res.once('close', () => {
      this.isGone = true;
    });
  }

  pull(): void {
    if (this.isGone) return closeThen(this.body, this.onEnd, this.onError);
    try {
      this.body.pull(this);
    } catch (error) {
      this.onError(error);
    }
  }

  onChunk(frames: string): void {
    // Headers are sent with the first frames, in one packet, or alone if there are none yet.
    if (this.isGone) return this.pull();
    if (frames === '') this.res.flushHeaders();
    else if (!this.res.write(frames.length > LONG ? toBytes(frames) : frames)) return this.waitForRoom();
    this.pull();
  }

  /** Continues when the socket drains, or never will. */
  private waitForRoom(): void {
    const { res } = this;
    this.unread ??= unreadAnswer(res);
    const { unread } = this;
    const resume = () => {
      res.off('drain', resume).off('close', resume);
      unread.end();
      this.runInAsyncScope(this.pull, this);
    };
    res.on('drain', resume).on('close', resume);
    unread.begin(res.writableLength);
  }
}

/** The `close` of the answer follows, which ends the writing. */
function ignoreError(): void {}

function toBytes(frames: string): Buffer {
  if (frames.length * MAX_BYTES_PER_UNIT > SCRATCH.length) return Buffer.from(frames);
  return Buffer.from(SCRATCH.subarray(0, SCRATCH.write(frames)));
}

/** Lets go of what is behind the body, such as a connection to the model server. */
async function closeUnread(body: Reply['body'] | AsyncIterable<Uint8Array>): Promise<void> {
  if (typeof body !== 'string') await body[Symbol.asyncIterator]().return?.();
}
