/** Any request to a model server, passed on as it is: its answer is read as fast as the client reads it. */
import { Readable } from 'node:stream';
import type { PassedAnswer, PassedRequest, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { PieceReader } from '../../streams/bytes.ts';
import { Watchdog } from './connection/watchdog.ts';
import type { HttpClient } from './http.ts';

/** What is passed on, and with which of the host's headers. */
interface PassedOn {
  readonly request: PassedRequest;
  /** The server's key and the host's headers, which stand above the client's. */
  readonly headers: Readonly<Record<string, string>>;
  /** Removes the server's secrets from an error. */
  readonly scrubError: (error: unknown) => unknown;
}

/** Resolves when the answer begins. Throws `ApiError` if the server refuses, and the abort reason of the call. */
export async function passOn(
  client: HttpClient,
  { request, headers, scrubError }: PassedOn,
  call: UpstreamCall,
): Promise<PassedAnswer> {
  const { firstByteTimeoutMs, idleTimeoutMs } = call.limits;
  const watch = new Watchdog(call.signal, firstByteTimeoutMs, idleTimeoutMs);
  const { method, path, body: held } = request;
  const isHeld = held === undefined || held instanceof Uint8Array;
  const sent = isHeld || held instanceof Readable ? held : Readable.from(held, { objectMode: false });
  const shown = (error: unknown) => {
    if (watch.call.aborted) return scrubError(watch.call.reason);
    if (error instanceof ApiError) return scrubError(error);
    const message = 'The connection to the model server broke.';
    return scrubError(new ApiError('upstream_truncated', message, { cause: error }));
  };
  // A stream has been read when it fails: it cannot be sent again.
  const retries = isHeld ? call.retries : 0;
  try {
    const answer = await client.send({
      ...{ method, path, body: sent, stop: watch.call, retries, onAttempt: call.onAttempt },
      headers: { ...headers, ...request.headers },
    });
    const body = new PieceReader(answer.body, watch, shown);
    return { status: answer.status, headers: answer.headers, body };
  } catch (error) {
    const failure = shown(error);
    watch.stop();
    throw failure;
  }
}
