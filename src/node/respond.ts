/** Writes a reply to a Node response: the one place that touches a client's socket. */
import { AsyncResource } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Reply } from '../protocol/reply.ts';
import { type Consumer, type PullStream, pullStreamOf } from '../streams/pull-stream.ts';

/** Characters above which frames go to the socket as bytes, which no garbage collection copies while they wait to be sent. */
const LONG = 4096;
/** Where long frames become bytes, which are copied from here: `Buffer.from` counts them first, at half of its whole price. */
const SCRATCH = Buffer.allocUnsafeSlow(256 * 1024);
/** Bytes that a UTF-16 unit takes at most. */
const MOST_BYTES = 3;

/**
 * Sends the reply. A stream goes on only as fast as the client reads. Resolves when all is handed to the socket or the
 * client has left. A stream that fails is cut off, so that the client does not wait for the rest; then it rejects.
 */
export async function respond(res: ServerResponse, { status, headers, body }: Reply): Promise<void> {
  if (res.headersSent || res.destroyed) {
    // Whoever began an answer has handed its end over to this reply, which cannot be told any more.
    if (!res.writableEnded) res.destroy();
    return closeUnread(body);
  }
  if (typeof body === 'string') {
    res.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
    return;
  }
  res.writeHead(status, headers);
  try {
    await written(res, pullStreamOf(body));
  } catch (error) {
    if (res.destroyed) return;
    res.destroy();
    throw error;
  }
  if (!res.destroyed) res.end();
}

/** Writes piece by piece; resolves at the end, or as soon as the client has left. */
function written(res: ServerResponse, body: PullStream<string>): Promise<void> {
  return new Promise((resolve, reject) => new Writing(res, body, resolve, reject).pull());
}

/** An `AsyncResource`: when the socket takes more, the stream goes on in the host's async context, which the socket's is not. */
class Writing extends AsyncResource implements Consumer<string> {
  private readonly res: ServerResponse;
  private readonly body: PullStream<string>;
  readonly onEnd: () => void;
  readonly onError: (error: unknown) => void;
  /** Not `res.destroyed` for each piece: on Node 20 every response of Express has a hidden class of its own, and is looked up. */
  private isGone: boolean;

  constructor(res: ServerResponse, body: PullStream<string>, resolve: () => void, reject: (error: unknown) => void) {
    super('CLIENT_WRITES');
    this.res = res;
    this.body = body;
    this.onEnd = resolve;
    this.onError = reject;
    this.isGone = res.destroyed;
    res.once('close', () => {
      this.isGone = true;
    });
  }

  pull(): void {
    if (this.isGone) return void this.body.return().then(this.onEnd, this.onError);
    try {
      this.body.pull(this);
    } catch (error) {
      this.onError(error);
    }
  }

  onChunk(frames: string): void {
    // Headers go out with the first frames, in one packet, or alone where there are none yet.
    if (this.isGone) return this.pull();
    if (frames === '') this.res.flushHeaders();
    else if (!this.res.write(frames.length > LONG ? encoded(frames) : frames)) return this.waitForRoom();
    this.pull();
  }

  /** Goes on when the socket takes more, or never will. */
  private waitForRoom(): void {
    const { res } = this;
    const goOn = () => {
      res.off('drain', goOn).off('close', goOn);
      this.runInAsyncScope(this.pull, this);
    };
    res.on('drain', goOn).on('close', goOn);
  }
}

function encoded(frames: string): Buffer {
  if (frames.length * MOST_BYTES > SCRATCH.length) return Buffer.from(frames);
  return Buffer.from(SCRATCH.subarray(0, SCRATCH.write(frames)));
}

async function closeUnread(body: Reply['body']): Promise<void> {
  if (typeof body !== 'string') await body[Symbol.asyncIterator]().return?.();
}
