/** The upstream for Anthropic's Messages API. */

import type { ChatBatch, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { rememberInputs, textWithInputs } from '../../protocol/anthropic/tool-inputs.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { cleanNote, type Scrub, type Scrubber, scrubber } from '../../protocol/secrets/scrub.ts';
import { secondTry } from '../../streams/second-try.ts';
import { withAnswerLimit } from '../http/answer-limit.ts';
import { stateOwnerFor } from '../http/base-path.ts';
import { exchange, fetchJson, parseJson } from '../http/exchange.ts';
import { type HttpClient, httpClient } from '../http/http.ts';
import { ModelTable } from '../http/model-table.ts';
import { noteOncePerCall } from '../http/note-once.ts';
import { fixedHeaders, requestHeaders } from '../http/server-options.ts';
import { STATE_REJECTED, withoutThoughts } from '../http/without-thoughts.ts';
import { toMessagesBody } from './body.ts';
import { continuedBody } from './continued.ts';
import { type MessagesDecoder, messagesDecoder } from './decoder.ts';
import { isThought, type Message } from './messages.ts';
import { type AnthropicOptions, type AnthropicSettings, anthropicSettings, keyHeaders } from './options.ts';

export type { AnthropicOptions, ServerTool } from './options.ts';
export { ADAPTIVE_THINKING, BUDGET_THINKING, type Thinking, type ThinkingTable } from './thinking.ts';

type Headers = Readonly<Record<string, string>>;

/** The list of models is paged; one page of this size holds all of them. */
const MODELS = 1000;

/**
 * Talks to `POST {baseURL}/v1/messages`, always requesting a stream; a server that answers with one JSON object works
 * too. Without `baseURL` and `apiKey` it reads `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY`. It has no `chat`, so it
 * serves the Responses API only. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
 *
 * const router = responsesRouter({ upstream: anthropicUpstream({ promptCache: true }) });
 * ```
 */
export function anthropicUpstream(options: AnthropicOptions = {}): Upstream {
  const settings = anthropicSettings(options);
  const client = httpClient({ ...settings, variables: 'ANTHROPIC' });
  const scrub = scrubber(settings);
  const headersFor = ({ headers }: UpstreamCall) =>
    requestHeaders('anthropicUpstream', settings, keyHeaders(settings), headers);

  const noteOnce = noteOncePerCall();

  async function* stream(request: ModelRequest, call: UpstreamCall): AsyncGenerator<readonly ModelEvent[]> {
    const headers = headersFor(call);
    const { maxOutputTokens } = table.now(request.model);
    const { request: fitting, note } = withAnswerLimit(request, maxOutputTokens);
    if (note) noteOnce(call, note);
    // The API requires a limit, so the host's own is one too.
    const maxTokens = Math.min(settings.maxTokens, maxOutputTokens ?? settings.maxTokens);
    const server = { settings: { ...settings, maxTokens }, client, scrub, noteOnce };
    try {
      yield* new Turn(server, call, headers).events(fitting);
    } catch (error) {
      throw scrub.of(headers)(error);
    }
  }

  const scrubs = new WeakMap<UpstreamCall, Scrub>();

  function messages(body: JsonObject, call: UpstreamCall): AsyncIterable<ChatBatch> {
    // Fields of a request may need what the client names here.
    const beta = call.headers.get('anthropic-beta');
    const headers = { ...(beta === null ? {} : { 'anthropic-beta': beta }), ...headersFor(call) };
    const scrubError = scrub.of(headers);
    scrubs.set(call, scrubError);
    // The host's tools are part of every request; the client's own of the same name win.
    const clientTools = recordsIn(body.tools);
    const hostTools = settings.serverTools.filter(({ name }) => !clientTools.some((tool) => tool.name === name));
    const text = textWithInputs(hostTools.length > 0 ? { ...body, tools: [...clientTools, ...hostTools] } : body);
    return exchange(client, { path: '/messages', headers, body: text, isLast, scrubError }, call);
  }

  async function listed(call: UpstreamCall): Promise<readonly JsonObject[]> {
    const path = settings.baseURL.search ? '/models' : `/models?limit=${MODELS}`;
    const headers = headersFor(call);
    try {
      const body = await fetchJson(client, { path, headers }, call);
      const models = isRecord(body) ? recordsIn(body.data) : [];
      return models.map((model) => ({
        id: model.id,
        object: 'model',
        created: Math.floor((Date.parse(String(model.created_at)) || 0) / 1000),
        owned_by: 'anthropic',
        ...Object.fromEntries(
          SHOWN_FIELDS.filter((field) => model[field] !== undefined).map((field) => [field, model[field]]),
        ),
      }));
    } catch (error) {
      throw scrub.of(headers)(error);
    }
  }

  async function countTokens(request: ModelRequest, call: UpstreamCall): Promise<number | undefined> {
    const headers = headersFor(call);
    const fields = toMessagesBody(request, settings, () => {});
    const body = JSON.stringify(Object.fromEntries(COUNTED.map((name) => [name, fields[name]])));
    try {
      const answer = await fetchJson(client, { path: '/messages/count_tokens', headers, body }, call);
      const tokens = isRecord(answer) ? answer.input_tokens : undefined;
      return typeof tokens === 'number' ? tokens : undefined;
    } catch (error) {
      throw scrub.of(headers)(error);
    }
  }

  const table = new ModelTable(settings.models, { list: listed });
  const usual = scrub.of(fixedHeaders(settings, keyHeaders(settings)));
  return {
    name: 'anthropic',
    stateOwner: stateOwnerFor('anthropic', settings.baseURL),
    origin: settings.baseURL.origin,
    stream,
    messages,
    countTokens,
    redact: (error, call) => ((call && scrubs.get(call)) ?? usual)(error),
    facts: (model, call) => table.facts(model, call),
    models: (call) => table.list(call),
    async close() {
      table.close();
      await client.close();
    },
  };
}

/** The fields that are input; the API refuses any other where it only counts. */
const COUNTED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config'];

interface Server {
  readonly settings: AnthropicSettings;
  readonly client: HttpClient;
  readonly scrub: Scrubber;
  readonly noteOnce: ReturnType<typeof noteOncePerCall>;
}

/** One call to the model server, with all the messages that its pauses make of it. */
class Turn {
  private readonly server: Server;
  private readonly call: UpstreamCall;
  private readonly headers: Headers;

  constructor(server: Server, call: UpstreamCall, headers: Headers) {
    this.server = server;
    this.call = call;
    this.headers = headers;
  }

  /** Asks once more without thinking where the server rejects thoughts that it signed. */
  events(request: ModelRequest): AsyncIterable<readonly ModelEvent[]> {
    const { settings, noteOnce } = this.server;
    const fields = toMessagesBody(request, settings, (note) => noteOnce(this.call, note));
    const { maxOutputTokens: limit } = request;
    const first = this.answer(fields, limit);
    // The cast: this server wrote the body itself.
    const messages = fields.messages as readonly Message[];
    if (!messages.some(({ content }) => content.some(isThought))) return first;
    return secondTry(first, (error) => {
      // The API has no error code for this; other servers report it in the same words.
      const isRefused = error instanceof ApiError && error.status === 400 && REFUSED_THOUGHT.test(error.message);
      if (!isRefused) return undefined;
      this.call.note(STATE_REJECTED);
      return this.answer(this.thoughtlessBody(request), limit);
    });
  }

  /** The body without thinking; the first body has already noted the unsupported settings. */
  private thoughtlessBody(request: ModelRequest): JsonObject {
    const { settings } = this.server;
    const { note } = this.call;
    const noted = new Set<string>();
    toMessagesBody(request, settings, ({ message }) => noted.add(message));
    return toMessagesBody(withoutThoughts(request), settings, (each) => noted.has(each.message) || note(each));
  }

  /** Reads all messages of a turn across its pauses; `limit` is the client's own, in tokens. */
  private async *answer(fields: JsonObject, limit: number | undefined): AsyncGenerator<readonly ModelEvent[]> {
    const { limits, note } = this.call;
    const decoder = messagesDecoder(cleanNote(note, this.server.scrub.textOf(this.headers)), limits.outputBytes);
    let next: JsonObject | undefined = fields;
    for (let pauses = 0; next; pauses += 1) {
      yield* this.message(decoder, textWithInputs(next));
      const { pause } = decoder;
      if (!pause) return;
      next = pauses < limits.toolIterations ? continuedBody(fields, pause, limit) : undefined;
      decoder.resume();
    }
    yield [{ type: 'finish', reason: 'length' }];
  }

  private async *message(decoder: MessagesDecoder, body: string): AsyncGenerator<readonly ModelEvent[]> {
    const httpRequest = { path: '/messages', headers: this.headers, body, isLast };
    for await (const { data } of exchange(this.server.client, httpRequest, this.call)) {
      const events: ModelEvent[] = [];
      const failure = decodeBatch(data, decoder, events);
      // Events before an error still count; an empty batch means that the request was accepted.
      if (events.length > 0 || data.length === 0) yield events;
      if (failure) throw failure;
      if (decoder.done) return;
    }
    const last: ModelEvent[] = [];
    // A server that sent its stop reason has finished, even without the last event.
    if (!decoder.end(last)) throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    yield last;
  }
}

const REFUSED_THOUGHT = /Invalid `?(signature|data)`? in `?(redacted_)?thinking`?\s{1,16}block/;

/** Only a short event can be the last one, so long ones are not parsed twice. */
function isLast(data: string): boolean {
  if (data.length >= 256 || !data.includes('message_stop')) return false;
  const event = parseJson(data);
  return isRecord(event) && event.type === 'message_stop';
}

function decodeBatch(batch: readonly string[], decoder: MessagesDecoder, events: ModelEvent[]): unknown {
  try {
    for (const data of batch) {
      if (data === '' || data.trim() === '[DONE]') continue;
      const event = parseJson(data);
      rememberInputs(event, data);
      decoder.take(event, events);
    }
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Anthropic's clients are shown them again. */
const SHOWN_FIELDS = ['display_name', 'max_input_tokens', 'max_tokens'] as const;
