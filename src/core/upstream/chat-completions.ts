/** The upstream for any Chat Completions server. */
import { ApiError } from '../errors.ts';
import { isRecord } from '../record.ts';
import type { ModelEvent } from '../turn/events.ts';
import { toChatBody } from './chat-body.ts';
import { type ChatDecoder, chatDecoder } from './chat-decoder.ts';
import { type ChatCompletionsOptions, chatSettings, requestHeaders } from './chat-options.ts';
import { type HttpAnswer, httpClient, readWhole, type Watchdog, watchdog } from './http.ts';
import { scrubber } from './scrub.ts';
import { readEvents } from './sse.ts';
import type { ChatBatch, ModelRequest, Upstream, UpstreamCall } from './upstream.ts';

export type { ChatCompletionsOptions } from './chat-options.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The data that ends a stream. */
const DONE = '[DONE]';
/** How long an accepted request may be silent before the client's own stream is opened, in milliseconds. */
const QUIET_MS = 1000;

/**
 * Talks to `POST {baseURL}/chat/completions`, always asking for a stream; a server that answers with one JSON object
 * works too. Without `baseURL` and `apiKey` it reads `OPENAI_BASE_URL` and `OPENAI_API_KEY`, as OpenAI's SDKs do.
 * Throws a `TypeError` for a bad option.
 */
export function chatCompletionsUpstream(options: ChatCompletionsOptions = {}): Upstream {
  const settings = chatSettings(options);
  const client = httpClient(settings);
  const scrub = scrubber(settings);

  async function* chat(body: Fields, call: UpstreamCall): AsyncGenerator<ChatBatch> {
    const watch = watchdog(call.signal, call.limits.firstByteTimeoutMs, call.limits.idleTimeoutMs);
    try {
      const headers = requestHeaders(settings, call.headers);
      const request = { method: 'POST', path: '/chat/completions', headers, signal: watch.signal } as const;
      const answer = await client.send({ ...request, body: JSON.stringify(body) });
      yield* isJson(answer) ? wholeBatch(answer, watch) : eventBatches(answer, call, watch);
    } catch (error) {
      throw scrub(broken(error, watch));
    } finally {
      watch.stop();
    }
  }

  async function* stream(request: ModelRequest, call: UpstreamCall): AsyncGenerator<readonly ModelEvent[]> {
    const body = toChatBody(request, settings, (item) => call.note(skipped(item.type)));
    const decoder = chatDecoder({ think: settings.thinkTags });
    for await (const { whole, data } of chat(body, call)) {
      const events: ModelEvent[] = [];
      const failure = decodeBatch(data, decoder, events);
      const done = !failure && (whole || data.at(-1)?.trim() === DONE);
      if (done) decoder.end(events, true);
      // What came before an error still counts, and an empty batch says that the request was taken.
      if (events.length > 0 || data.length === 0) yield events;
      if (failure) throw scrub(failure);
      if (done) return;
    }
    const events: ModelEvent[] = [];
    decoder.end(events, false);
    yield events;
  }

  async function models(call: UpstreamCall): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const watch = watchdog(call.signal, call.limits.firstByteTimeoutMs, call.limits.idleTimeoutMs);
    try {
      const headers = requestHeaders(settings, call.headers);
      const answer = await client.send({ method: 'GET', path: '/models', headers, signal: watch.signal });
      return modelList(parse(await readWhole(answer.body)));
    } catch (error) {
      throw scrub(broken(error, watch));
    } finally {
      watch.stop();
    }
  }

  return { name: 'chat-completions', stream, chat, redact: scrub, models, close: () => client.close() };
}

function skipped(type: string) {
  return { code: 'item_skipped', message: `Input items of type '${type}' have no place in a chat request.` } as const;
}

function isJson({ contentType }: HttpAnswer): boolean {
  return /[/+]json\b/i.test(contentType);
}

async function* wholeBatch({ body }: HttpAnswer, watch: Watchdog): AsyncGenerator<ChatBatch> {
  const text = await readWhole(body);
  watch.finish();
  yield { whole: true, data: [text] };
}

/** The data of the events up to `[DONE]`; an empty first batch where the server took the request and is silent. */
async function* eventBatches(
  { body, contentType }: HttpAnswer,
  call: UpstreamCall,
  watch: Watchdog,
): AsyncGenerator<ChatBatch> {
  const options = { eventBytes: call.limits.eventBytes, quietMs: QUIET_MS, onBytes: watch.heard };
  let heard = false;
  for await (const batch of readEvents(body, options)) {
    heard ||= batch.length > 0;
    const done = batch.findIndex((data) => data.trim() === DONE);
    if (done >= 0) watch.finish();
    yield { whole: false, data: done < 0 ? batch : batch.slice(0, done + 1) };
    if (done >= 0) return;
  }
  if (!heard) throw new ApiError('upstream_error', `The model server answered with no events (${contentType}).`);
}

function decodeBatch(batch: readonly string[], decoder: ChatDecoder, events: ModelEvent[]): unknown {
  try {
    for (const data of batch) {
      if (data !== '' && data.trim() !== DONE) decoder.take(parse(data), events);
    }
  } catch (error) {
    return error;
  }
  return undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('upstream_error', 'The model server sent something that is not JSON.', { cause });
  }
}

/** What really happened: the caller left, time ran out, or the connection broke in mid-answer. */
function broken(error: unknown, watch: Watchdog): unknown {
  if (watch.signal.aborted) return watch.signal.reason;
  if (error instanceof ApiError) return error;
  return new ApiError('upstream_truncated', 'The connection to the model server broke.', { cause: error });
}

function modelList(body: unknown): readonly Readonly<Record<string, unknown>>[] {
  const list = isRecord(body) ? (body.data ?? body.models) : body;
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
