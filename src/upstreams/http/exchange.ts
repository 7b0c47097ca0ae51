/** One exchange with a model server: a request, and its answer batch by batch as it arrives. */
import { isDeepStrictEqual } from 'node:util';
import type { OnAttempt, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { beginBody, readWhole } from '../../streams/bytes.ts';
import { type Consumer, NULL_CONSUMER, type PullStream, Stage } from '../../streams/pull-stream.ts';
import { type Inbox, openInbox } from '../../streams/sse-reader.ts';
import type { Answered } from './connection/dispatch.ts';
import { Watchdog } from './connection/watchdog.ts';
import type { HttpClient, Refusal } from './http.ts';

/** The request, and how the answer's last event is recognised. */
interface ExchangeRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
  /** Whether the data is that of the last event. */
  readonly isLast: (data: string) => boolean;
  /** Whether data that follows the last event belongs to the answer all the same: such data is passed on in front of that event. */
  readonly isLate?: (data: string) => boolean;
  /** Whether the server is known to send such data some time later: the last event waits for it, up to a second. */
  readonly waitsForLate?: boolean;
  /** Removes the server's secrets from an error, so that it can be shown. */
  readonly scrubError?: (error: unknown) => unknown;
  /** Makes the error that reports an answer without events to the host, from its text. */
  readonly unexpected?: (text: string) => Error;
  /** The request that is sent instead of one that the server has refused, once; undefined for a refusal that stands. */
  readonly second?: ((refusal: Refusal) => SecondRequest | undefined) | undefined;
}

/** A request that is sent because the server has refused the first one. */
export interface SecondRequest {
  /** JSON text. */
  readonly body: string;
  /** Receives how this has met the refusal: the server accepts it, or refuses it as invalid for another reason. Undefined if it has not. */
  readonly settled: (met: 'accepted' | 'refused otherwise' | undefined) => void;
}

/** The part of an answer that arrived together: one whole JSON body, or the data of some events. */
export interface AnswerBatch {
  readonly whole: boolean;
  readonly data: readonly string[];
}

/** How long an accepted request may send nothing before the client's own stream is opened, in milliseconds. */
const QUIET_MS = 1000;
/** How long the end of an answer waits for what its server sends after the last event, in milliseconds. */
const LATE_MS = 1000;

/**
 * Posts the request and yields the answer up to its last event; an empty batch if the server accepted the request and
 * sends nothing yet. Throws `ApiError` if the server refuses or the connection breaks, and the abort reason of the call.
 */
export function exchange(client: HttpClient, request: ExchangeRequest, call: UpstreamCall): PullStream<AnswerBatch> {
  return new Exchange(client, request, call);
}

/** How events begin, and no JSON does: some servers label a stream as JSON. */
const EVENTS_START = /^\s*[:deir]/;

class Exchange extends Stage<AnswerBatch> implements Consumer<readonly string[]> {
  private readonly client: HttpClient;
  /** Released once it is sent, because its body may be long. */
  private request: ExchangeRequest | undefined;
  private readonly call: UpstreamCall;
  private readonly isLast: (data: string) => boolean;
  private readonly isLate: ((data: string) => boolean) | undefined;
  private readonly waitsForLate: boolean;
  /** The last event, while it waits for what follows it. */
  private held: string | undefined = undefined;
  private lateTimer: NodeJS.Timeout | undefined = undefined;
  private readonly scrubError: (error: unknown) => unknown;
  private readonly unexpected: ((text: string) => Error) | undefined;
  private consumer: Consumer<AnswerBatch> = NULL_CONSUMER;
  private watch: Watchdog | undefined = undefined;
  private inbox: Inbox | undefined = undefined;
  private contentType = '';
  private isAnswered = false;
  private over = false;

  constructor(client: HttpClient, request: ExchangeRequest, call: UpstreamCall) {
    super();
    this.client = client;
    this.request = request;
    this.call = call;
    this.isLast = request.isLast;
    this.isLate = request.isLate;
    this.waitsForLate = request.waitsForLate ?? false;
    this.scrubError = request.scrubError ?? ((error) => error);
    this.unexpected = request.unexpected;
  }

  pull(consumer: Consumer<AnswerBatch>): void {
    this.consumer = consumer;
    if (this.over) consumer.onEnd();
    else if (this.held !== undefined) this.pullLate();
    else if (this.inbox) this.inbox.pull(this);
    else this.open().catch((error) => this.onError(error));
  }

  onChunk(data: readonly string[]): void {
    this.isAnswered ||= data.length > 0;
    if (this.held !== undefined) return this.takeLate(data, this.held);
    const place = data.findIndex(this.isLast);
    if (place < 0) return this.consumer.onChunk({ whole: false, data });
    const isAlone = place === data.length - 1;
    const late = isAlone || !this.isLate ? undefined : data.slice(place + 1).find(this.isLate);
    const last = data[place] ?? '';
    if (late !== undefined) this.last({ whole: false, data: [...data.slice(0, place), late, last] });
    else if (this.waitsForLate) this.hold(data.slice(0, place), last);
    else this.last({ whole: false, data: isAlone ? data : data.slice(0, place + 1) });
  }

  onEnd(): void {
    if (this.held !== undefined) return this.last({ whole: false, data: [this.held] });
    if (!this.isAnswered) {
      const cause = this.unexpected?.(this.inbox?.head.trim() ?? '');
      const message = `The model server answered with no events (${this.contentType}).`;
      return this.onError(new ApiError('upstream_error', message, cause ? { cause } : {}));
    }
    this.close();
    this.consumer.onEnd();
  }

  onError(error: unknown): void {
    // The caller has gone away, which is why the connection broke.
    if (this.over) return;
    // The answer is whole: how its connection ends does not matter, unless the caller has left.
    if (this.held !== undefined && !this.call.signal.aborted) return this.last({ whole: false, data: [this.held] });
    const failure = this.scrubError(this.watch ? brokenCallError(error, this.watch) : error);
    this.close();
    this.consumer.onError(failure);
  }

  close(): void {
    this.over = true;
    clearTimeout(this.lateTimer);
    this.inbox?.close();
    this.watch?.stop();
  }

  private async open(): Promise<void> {
    const { limits, wire, signal } = this.call;
    const watch = new Watchdog(signal, limits.firstByteTimeoutMs, limits.idleTimeoutMs);
    this.watch = watch;
    const answer = await this.ask(this.request as ExchangeRequest, watch);
    this.request = undefined;
    this.contentType = String(answer.headers['content-type'] ?? '');
    let { body } = answer;
    if (/[/+]json\b/i.test(this.contentType)) {
      const begun = await beginBody(body);
      if (!EVENTS_START.test(begun.start)) return this.takeWhole(await readWhole(begun.body));
      ({ body } = begun);
    }
    this.inbox = openInbox(body, {
      eventBytes: limits.eventBytes,
      quietMs: QUIET_MS,
      onBytes: () => watch.reset(),
      tap: wire && ((bytes) => wire.received(bytes)),
    });
    this.inbox.pull(this);
  }

  private async ask({ path, headers, body, second }: ExchangeRequest, watch: Watchdog): Promise<Answered> {
    const { retries, onAttempt, wire } = this.call;
    let made = 0;
    const send = (text: string) => {
      const before = made;
      const counted: OnAttempt = (attempt) => {
        made = before + attempt.attempt;
        onAttempt?.({ ...attempt, attempt: made });
      };
      wire?.sent(text);
      const attempts = { stop: watch.call, retries, onAttempt: onAttempt && counted };
      return this.client.send({ method: 'POST', path, headers, body: text, ...attempts });
    };
    try {
      return await send(body);
    } catch (refusal) {
      const again = refusal instanceof ApiError && !watch.call.aborted ? second?.(refusal) : undefined;
      if (!again) throw refusal;
      return await send(again.body).then(
        (answer) => {
          again.settled('accepted');
          return answer;
        },
        (error) => {
          const { answered, said } = error instanceof ApiError ? (error as Refusal) : {};
          // A server that is overloaded or breaks the connection, or a client that leaves, shows nothing of the request.
          const isRefusal = answered === 400 || answered === 422;
          const isOther = isRefusal && !isDeepStrictEqual(said, (refusal as Refusal).said);
          again.settled(isOther ? 'refused otherwise' : undefined);
          throw error;
        },
      );
    }
  }

  private takeWhole(text: string): void {
    this.call.wire?.received(Buffer.from(text));
    this.last({ whole: true, data: [text] });
  }

  /** Passes on what came before the last event, which waits. */
  private hold(data: readonly string[], last: string): void {
    this.held = last;
    if (data.length > 0) this.consumer.onChunk({ whole: false, data });
    else this.pullLate();
  }

  private pullLate(): void {
    this.lateTimer ??= setTimeout(() => this.onEnd(), LATE_MS);
    this.inbox?.pull(this);
  }

  private takeLate(data: readonly string[], last: string): void {
    const late = this.isLate && data.find(this.isLate);
    if (late !== undefined) this.last({ whole: false, data: [late, last] });
    else this.pullLate();
  }

  private last(batch: AnswerBatch): void {
    this.watch?.finish();
    this.close();
    this.consumer.onChunk(batch);
  }
}

/** A small request: a `POST` with the JSON text if it has one, else a `GET`. */
interface JsonRequest extends Pick<ExchangeRequest, 'path' | 'headers'> {
  readonly body?: string;
  /** Whether the path stands beside that of the API's version. */
  readonly isBeside?: boolean;
}

/** Returns the whole JSON answer; throws as `exchange` does. */
export async function fetchJson(client: HttpClient, request: JsonRequest, call: UpstreamCall): Promise<unknown> {
  const { firstByteTimeoutMs, idleTimeoutMs } = call.limits;
  // There is no prompt to be read before the first byte.
  const watch = new Watchdog(call.signal, Math.min(firstByteTimeoutMs, idleTimeoutMs), idleTimeoutMs);
  try {
    const method = request.body === undefined ? 'GET' : 'POST';
    const answer = await client.send({ method, ...request, stop: watch.call, retries: call.retries });
    return parseJson(await readWhole(answer.body));
  } catch (error) {
    throw brokenCallError(error, watch);
  } finally {
    watch.stop();
  }
}

/** Parses data from a model server; throws `upstream_error` if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the invalid text and cuts it, and half a secret cannot be found by the scrubber.
    const cause = new SyntaxError(String(error).replace(/".*"/s, 'the text'));
    throw new ApiError('upstream_error', 'The model server sent something that is not JSON.', { cause });
  }
}

/** The actual cause: the caller left, a timeout, or a connection that broke mid-answer. */
function brokenCallError(error: unknown, watch: Watchdog): unknown {
  if (watch.call.aborted) return watch.call.reason;
  if (error instanceof ApiError) return error;
  return new ApiError('upstream_truncated', 'The connection to the model server broke.', { cause: error });
}
