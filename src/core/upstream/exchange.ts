/** One exchange with a model server: a request, and its answer batch by batch as it arrives. */
import { ApiError } from '../errors.ts';
import { type Pieces, pieces, type Sink } from '../pieces.ts';
import { type HttpAnswer, type HttpClient, readWhole, type Watchdog, watchdog } from './http.ts';
import { type Inbox, openInbox } from './sse.ts';
import type { UpstreamCall } from './upstream.ts';

/** What is asked, and how the answer's last event is known. */
export interface ExchangeRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
  /** Whether the data is that of the last event. */
  readonly isLast: (data: string) => boolean;
  /** Makes an error fit to be shown, which may hold the server's secrets. */
  readonly shown?: (error: unknown) => unknown;
}

/** What arrived together of an answer: one whole JSON body, or the data of some events. */
export interface AnswerBatch {
  readonly whole: boolean;
  readonly data: readonly string[];
}

/** How long an accepted request may be silent before the client's own stream is opened, in milliseconds. */
const QUIET_MS = 1000;

/**
 * Posts the request and answers it up to its last event; an empty batch where the server took the request and is silent.
 * Throws `ApiError` where the server refuses or the connection breaks, and what the call was aborted with.
 */
export function exchange(
  client: HttpClient,
  { path, headers, body, isLast, shown = (error) => error }: ExchangeRequest,
  { signal, limits }: UpstreamCall,
): Pieces<AnswerBatch> {
  let sink: Sink<AnswerBatch>;
  let watch: Watchdog | undefined;
  let inbox: Inbox | undefined;
  let contentType = '';
  let heard = false;
  let over = false;

  const end = () => {
    over = true;
    inbox?.close();
    watch?.stop();
  };
  const fail = (error: unknown) => {
    // Whoever asked has turned away, which is why it broke.
    if (over) return;
    const told = shown(watch ? broken(error, watch) : error);
    end();
    sink.failed(told);
  };
  const open = async () => {
    watch = watchdog(signal, limits.firstByteTimeoutMs, limits.idleTimeoutMs);
    const answer = await client.send({ method: 'POST', path, headers, body, stop: watch.call });
    if (isJson(answer)) return last({ whole: true, data: [await readWhole(answer.body)] });
    contentType = answer.contentType;
    inbox = openInbox(answer.body, { eventBytes: limits.eventBytes, quietMs: QUIET_MS, onBytes: watch.heard });
    inbox.ask(own);
  };
  const own: Sink<readonly string[]> = {
    came(data) {
      heard ||= data.length > 0;
      const place = data.findIndex(isLast);
      if (place >= 0) last({ whole: false, data: data.slice(0, place + 1) });
      else sink.came({ whole: false, data });
    },
    ended() {
      if (!heard) return fail(noEvents(contentType));
      end();
      sink.ended();
    },
    failed: fail,
  };
  const last = (batch: AnswerBatch) => {
    watch?.finish();
    end();
    sink.came(batch);
  };
  const ask = (given: Sink<AnswerBatch>) => {
    sink = given;
    if (over) sink.ended();
    else if (inbox) inbox.ask(own);
    else open().catch(fail);
  };
  return pieces(ask, end);
}

function noEvents(contentType: string): ApiError {
  return new ApiError('upstream_error', `The model server answered with no events (${contentType}).`);
}

/** The whole JSON answer to a `GET`; throws as `exchange` does. */
export async function fetchJson(
  client: HttpClient,
  request: Pick<ExchangeRequest, 'path' | 'headers'>,
  call: UpstreamCall,
): Promise<unknown> {
  const watch = watchdog(call.signal, call.limits.firstByteTimeoutMs, call.limits.idleTimeoutMs);
  try {
    const { path, headers } = request;
    const answer = await client.send({ method: 'GET', path, headers, stop: watch.call });
    return parseJson(await readWhole(answer.body));
  } catch (error) {
    throw broken(error, watch);
  } finally {
    watch.stop();
  }
}

/** Parses what a model server sent; throws `upstream_error` where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('upstream_error', 'The model server sent something that is not JSON.', { cause });
  }
}

function isJson({ contentType }: HttpAnswer): boolean {
  return /[/+]json\b/i.test(contentType);
}

/** What really happened: the caller left, time ran out, or the connection broke in mid-answer. */
function broken(error: unknown, watch: Watchdog): unknown {
  if (watch.call.aborted) return watch.call.reason;
  if (error instanceof ApiError) return error;
  return new ApiError('upstream_truncated', 'The connection to the model server broke.', { cause: error });
}
