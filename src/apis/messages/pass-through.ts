/** Passes a request on to a model server that speaks the Messages API itself, and its answer back, byte for byte. */

import { type EndpointRequest, hasLeft } from '../../engine/request/endpoint-request.ts';
import { attemptReporter, notify, observed, type RequestInfo } from '../../ports/hooks.ts';
import type { ChatBatch, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { anthropicError } from '../../protocol/anthropic/envelope.ts';
import { usageReader } from '../../protocol/anthropic/usage.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import { type ModelEvent, NO_USAGE, type Usage } from '../../protocol/events.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { JSON_HEADERS, type Reply, streamReply } from '../../protocol/reply.ts';
import { errorInBody } from '../../protocol/upstream-errors/upstream-error.ts';
import { withHeartbeats } from '../../streams/heartbeats.ts';
import { mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { streamUntilAborted } from '../../streams/until-aborted-stream.ts';
import { withFirst } from '../../streams/with-first.ts';
import { passedHeaders } from '../endpoint/endpoint.ts';
import { noteReporter, requestSilence } from '../endpoint/prepare.ts';
import { messageFrame, PING } from './encoder.ts';
import type { MessagesBody } from './request/schema.ts';
import type { MessagesSettings } from './settings.ts';

type PassingSettings = MessagesSettings & {
  readonly upstream: Upstream;
};

/** `leave` ends the turn. Throws `ApiError` for errors that are sent with a status; later errors are in the answer. */
export async function passThrough(
  body: MessagesBody,
  request: EndpointRequest,
  settings: PassingSettings,
  leave: () => void,
): Promise<Reply> {
  const passage = new Passage(body, request, settings);
  try {
    if (!body.stream) return await passage.whole(leave);
    const frames = passage.frames(leave);
    // Awaits the first piece, so that a refusal still has its own status.
    return streamReply(withFirst(await frames.next(), frames));
  } catch (error) {
    throw passage.redacted(error);
  }
}

class Passage {
  private readonly settings: PassingSettings;
  private readonly request: EndpointRequest;
  private readonly call: UpstreamCall;
  private readonly answer: AsyncIterable<ChatBatch>;
  private readonly info: RequestInfo;
  private readonly began = Date.now();
  private readonly usage = usageReader();
  private counted: Usage = NO_USAGE;
  private ended = false;
  /** The name of the server that answers, of several. */
  private server: string | undefined = undefined;

  constructor(body: MessagesBody, request: EndpointRequest, settings: PassingSettings) {
    const { requestId, scope, signal } = request;
    const { upstream, limits, hooks } = settings;
    this.settings = settings;
    this.request = request;
    const onAttempt = attemptReporter(requestId, hooks);
    this.call = { signal, headers: passedHeaders(request), limits, note: noteReporter(request, settings), onAttempt };
    const stream = body.stream === true;
    this.info = { requestId, responseId: requestId, scope, model: body.model, stream, background: false };
    observed(() => ({ ...this.info, api: 'messages', body, signal }), hooks);
    notify(hooks, 'onRequest', this.info);
    // The cast: the caller has checked that the server speaks the API.
    this.answer = streamUntilAborted((upstream as Required<Upstream>).messages(body, this.call), signal);
  }

  async whole(leave: () => void): Promise<Reply> {
    let body = '';
    for await (const { whole, data, server } of this.answer) {
      // Its events are no answer to a client that asked for one object.
      if (!whole && data.length > 0) throw errorInText(data[0] ?? '') ?? noAnswer('with one object');
      body += data.join('');
      this.server = server ?? this.server;
    }
    const message = jsonIn(body);
    if (!isRecord(message)) throw noAnswer('with a message');
    const error = errorInBody(message);
    if (error) throw error;
    this.count(message);
    this.end('completed');
    leave();
    return { status: 200, headers: JSON_HEADERS, body };
  }

  /** The frames; a failure after the first is reported in the stream, as Anthropic does. A ping opens it. */
  frames(leave: () => void): PullStream<string> {
    const silence = requestSilence(this.request, this.settings);
    let started = false;
    return mapStream(withHeartbeats(this.read(), silence), {
      map: (frames) => {
        started = true;
        if (typeof frames === 'string') return frames;
        return silence.intervalMs === undefined ? '' : messageFrame(PING);
      },
      end: () => {
        this.end('completed');
        return undefined;
      },
      failed: (error) => {
        if (!started || hasLeft(this.request.signal)) throw error;
        return this.failure(error);
      },
      closed: leave,
    });
  }

  /** An empty piece opens the client's stream. */
  private read(): PullStream<string> {
    let failure: unknown;
    return mapStream(this.answer, {
      map: ({ whole, data, server }) => {
        let frames = '';
        this.server = server ?? this.server;
        try {
          for (const each of data) frames += whole ? this.wholeFrames(each) : this.frame(each);
        } catch (error) {
          failure = error;
        }
        return frames === '' && failure ? undefined : frames;
      },
      shouldContinue: () => {
        if (failure) throw failure;
        return true;
      },
      end: () => {
        if (!this.ended) throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
        return undefined;
      },
    });
  }

  /**
   * The server answered a request for a stream with one JSON object: either an error, or something that a streaming
   * client cannot read.
   */
  private wholeFrames(text: string): string {
    throw errorInText(text) ?? noAnswer('with a stream');
  }

  private frame(data: string): string {
    const type = TYPE.exec(data.slice(0, TYPE_WITHIN))?.[1] ?? eventType(data);
    if (type === 'error')
      throw errorInText(data) ?? new ApiError('upstream_error', 'The model server reported an error.');
    if (type === 'message_start' || type === 'message_delta') this.count(jsonIn(data));
    this.ended ||= type === 'message_stop';
    return `event: ${type}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
  }

  private count(event: unknown): void {
    const { message, usage } = isRecord(event) ? event : {};
    const events: ModelEvent[] = [];
    this.usage.take(isRecord(message) ? message.usage : usage, events);
    for (const each of events) if (each.type === 'usage') this.counted = each.usage;
  }

  private failure(error: unknown): string {
    const { hooks } = this.settings;
    const shown = toApiError(this.redacted(error));
    notify(hooks, 'onError', shown, this.info);
    this.end('failed');
    // The cast: an error's data always has a type.
    return messageFrame(anthropicError(shown, this.request.requestId) as JsonObject & { readonly type: string });
  }

  /** Errors in the model server's own answer may contain its secrets. */
  redacted(error: unknown): unknown {
    return this.settings.upstream.redact?.(error, this.call) ?? error;
  }

  private end(status: 'completed' | 'failed'): void {
    const durationMs = Date.now() - this.began;
    const named = this.server === undefined ? {} : { server: this.server };
    notify(this.settings.hooks, 'onResponse', { status, usage: this.counted, durationMs, ...named, ...this.info });
  }
}

/** Characters in which the type is looked for before the whole event is read. */
const TYPE_WITHIN = 64;
const TYPE = /^\{"type": ?"([a-z_]{1,40})"/;

function eventType(data: string): string {
  const event = jsonIn(data);
  const type = isRecord(event) ? event.type : undefined;
  return typeof type === 'string' && /^\w{1,64}$/.test(type) ? type : 'message';
}

function noAnswer(form: string): ApiError {
  return new ApiError('upstream_error', `The model server did not answer ${form}.`);
}

function errorInText(text: string): ApiError | undefined {
  const body = jsonIn(text);
  return isRecord(body) ? errorInBody(body) : undefined;
}
