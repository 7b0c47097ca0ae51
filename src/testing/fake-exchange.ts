/** One request to the fake upstream, its reply, and which side ended the exchange. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type FakeEnding, type FakeReply, playReply } from './fake-reply.ts';

/** A request as received. */
export interface FakeRequest {
  /** The HTTP method. */
  readonly method: string;
  /** Path and query, such as `/v1/chat/completions`. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed body, or its text if it is not JSON. */
  readonly body: unknown;
  /** Becomes true if the client leaves before the reply is complete. */
  readonly aborted: boolean;
  /** When the request had been read, on the clock of `performance.now()`. */
  readonly at: number;
}

/** A reply, or a function that returns the reply to this request; an error it throws becomes a 500 with its message. */
export type FakeResponder = FakeReply | ((request: FakeRequest) => FakeReply | Promise<FakeReply>);

/** A request that is being answered. */
export interface FakeExchange {
  readonly request: FakeRequest;
  readonly response: ServerResponse;
  /** Aborted when the connection or the reply has ended, whichever side ended it. */
  readonly over: AbortSignal;
  /** Resolves when the client left; rejects if this side ended the exchange. */
  readonly clientLeft: Promise<number>;
  /** Ends this side. */
  end(ending: FakeEnding): void;
}

/** Reads a request; undefined if the client left in the middle of it. */
export async function readExchange(
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<FakeExchange | undefined> {
  const bytes = await buffer(incoming).catch(() => undefined);
  if (bytes === undefined || response.destroyed) return undefined;
  const { method = '', url = '', headers } = incoming;
  const text = bytes.toString();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A body that is not JSON stays text.
  }
  const request = { method, path: url, headers, body, aborted: false, at: performance.now() };
  return { request, response, ...watchConnection(response, request) };
}

/** Answers the request. A mistake in the test becomes a 500, so that the client shows it. */
export async function answerExchange(
  { request, response, over, end }: FakeExchange,
  responder: FakeResponder,
): Promise<void> {
  try {
    const reply = typeof responder === 'function' ? await responder(request) : responder;
    end(await playReply(reply, response, over));
  } catch (error) {
    if (over.aborted) return;
    if (response.headersSent) return end('destroy');
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `fake upstream: ${error}`, type: 'server_error' } }));
  }
}

/** Detects the end of the connection, and which side ended it. */
function watchConnection(
  response: ServerResponse,
  request: { aborted: boolean },
): Pick<FakeExchange, 'over' | 'clientLeft' | 'end'> {
  const over = new AbortController();
  let endedHere = false;
  const clientLeft = new Promise<number>((resolve, reject) => {
    response.once('close', () => {
      request.aborted = !endedHere && !response.writableFinished;
      if (request.aborted) resolve(performance.now());
      else reject(new Error('The fake upstream ended its reply itself; the client did not leave before.'));
      over.abort();
    });
  });
  // Most tests never wait for the client to leave.
  clientLeft.catch(() => {});

  function end(ending: FakeEnding): void {
    endedHere ||= ending === 'destroy' || ending === 'reset';
    if (ending === 'end') response.end();
    if (ending === 'destroy') response.socket?.destroy();
    if (ending === 'reset') response.socket?.resetAndDestroy();
  }

  return { over: over.signal, clientLeft, end };
}
