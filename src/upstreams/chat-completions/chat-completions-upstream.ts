/** The upstream for any Chat Completions server. */

import type { ChatBatch, PassedAnswer, PassedRequest, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { type ChatDecoder, chatDecoder } from '../../protocol/chat-completions/decoder.ts';
import { chunkMemo } from '../../protocol/chat-completions/fast-path/chunk-memo.ts';
import type { ReasoningField } from '../../protocol/chat-completions/reasoning-fields.ts';
import { rememberArguments } from '../../protocol/chat-completions/tool-calls.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { cleanNote, type Scrub, scrubber } from '../../protocol/secrets/scrub.ts';
import { type Mapping, mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { stateOwnerFor } from '../http/base-path.ts';
import { exchange, fetchJson, parseJson, type SecondRequest } from '../http/exchange.ts';
import { httpClient, type Refusal } from '../http/http.ts';
import { ModelTable } from '../http/model-table.ts';
import { noteOncePerCall } from '../http/note-once.ts';
import { passOn } from '../http/pass-on.ts';
import { bearerHeaders, fixedHeaders, requestHeaders } from '../http/server-options.ts';
import { skippedItem } from '../http/skipped-item.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';
import { toCountBody } from '../responses-input/count-body.ts';
import { toChatBody, withKnownToolChoice } from './chat-body.ts';
import { type ChatCompletionsOptions, chatSettings } from './chat-options.ts';
import { TokenCounts } from './count-tokens.ts';
import { LearnedSettings } from './learned-settings.ts';
import { isSameRefusal, readLesson, withLesson } from './lessons.ts';
import { shortenedNames, withModelFacts } from './provider-rules.ts';
import type { ProviderSettings } from './providers.ts';
import { SeenFields } from './seen-fields.ts';
import { ServerFacts } from './server-kind.ts';

export type { ChatCompletionsOptions } from './chat-options.ts';

/** An upstream that has every optional method of a single server of its API, for upstreams of a host's own that choose among several. */
export interface ChatCompletionsUpstream
  extends Required<Omit<Upstream, 'messages' | 'speaksMessages' | 'nativeTypes' | 'servers'>> {
  readonly stateOwner: string;
}

const NAME = 'chatCompletionsUpstream';

/**
 * Talks to `POST {baseURL}/chat/completions`, always requesting a stream; a server that answers with one JSON object
 * works too. Without `baseURL` and `apiKey` it reads `OPENAI_BASE_URL` and `OPENAI_API_KEY`, as OpenAI's SDKs do.
 * Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 *
 * const router = responsesRouter({ upstream: chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:11434/v1' }) });
 * ```
 */
export function chatCompletionsUpstream(options: ChatCompletionsOptions = {}): ChatCompletionsUpstream {
  const settings = chatSettings(options);
  const client = httpClient(settings);
  const scrub = scrubber(settings);
  const headersFor = ({ headers }: UpstreamCall) => requestHeaders(NAME, settings, bearerHeaders(settings), headers);
  const seen = new SeenFields();
  /** Computed for each call, because the host's headers may belong to another tenant each time. */
  const scrubs = new WeakMap<UpstreamCall, Scrub>();
  const noteOnce = noteOncePerCall();

  const learned = new LearnedSettings();

  function open(body: JsonObject, call: UpstreamCall, second?: (refusal: Refusal) => SecondRequest | undefined) {
    const headers = headersFor(call);
    const [scrubError, clean] = [scrub.of(headers), scrub.textOf(headers)];
    scrubs.set(call, scrubError);
    const unexpected = (text: string, cause?: unknown) => unexpectedAnswer(text, clean, settings.baseURL, cause);
    const text = JSON.stringify(body);
    const again = text.length <= MAX_SECOND_TRY ? second : undefined;
    const request = { path: '/chat/completions', headers, body: text, second: again };
    const batches = exchange(client, { isLast: isDone, scrubError, unexpected, ...request }, call);
    return { batches, scrubError, unexpected, note: cleanNote((note) => noteOnce(call, note), clean) };
  }

  function chat(body: JsonObject, call: UpstreamCall): PullStream<ChatBatch> {
    return open(withKnownToolChoice(body, settings.toolChoice), call).batches;
  }

  function reportsTo(call: UpstreamCall) {
    return {
      skipped: (item: Item) => noteOnce(call, skippedItem(item, 'a chat request')),
      leftOut: (message: string) => noteOnce(call, { code: 'setting_dropped', message }),
    };
  }

  function stream(request: ModelRequest, call: UpstreamCall): PullStream<readonly ModelEvent[]> {
    const { model } = request;
    const reasoningField = seen.get(model) ?? settings.reasoningField;
    const usual = withModelFacts({ ...settings, reasoningField }, table.now(model), options);
    const known = withLesson(usual, learned.get(model) ?? {});
    if (request.tools.some(({ outputSchema }) => outputSchema)) noteOnce(call, NO_OUTPUT_SCHEMA);
    const body = toChatBody(request, known, reportsTo(call));
    const sent: SentNames = { names: shortenedNames(request, known.maxToolName) };
    // Created elsewhere: in here, what lives as long as the answer would hold the request with its whole history.
    const { batches, ...answer } = open(body, call, secondTry(request, body, known, sent, call));
    const saw = (field: ReasoningField) => seen.remember(model, field);
    return mapStream(batches, new Decoding(settings.thinkTags(model), { ...answer, saw, names: () => sent.names }));
  }

  /** The request once more without what the server has refused. */
  function secondTry(
    request: ModelRequest,
    body: JsonObject,
    known: ProviderSettings,
    sent: SentNames,
    call: UpstreamCall,
  ): (refusal: Refusal) => SecondRequest | undefined {
    return ({ answered = 0, said }) => {
      const lesson = readLesson(answered, said, body, known);
      if (!lesson) return undefined;
      const reports = reportsTo(call);
      reports.leftOut(`The model server refused the request; it is asked again ${lesson.change}.`);
      const taught = withLesson(known, lesson.settings);
      sent.names = shortenedNames(request, taught.maxToolName);
      return {
        body: JSON.stringify(toChatBody(request, taught, reports)),
        settled(again) {
          // Another refusal shows that the first one was met.
          const isSame = again instanceof ApiError && isSameRefusal((again as Refusal).said, said);
          if (lesson.isLasting && !isSame) learned.learn(request.model, lesson.settings);
        },
      };
    };
  }

  function pass(request: PassedRequest, call: UpstreamCall): Promise<PassedAnswer> {
    const headers = headersFor(call);
    return passOn(client, { request, headers, scrubError: scrub.of(headers) }, call);
  }

  async function listed(call: UpstreamCall): Promise<readonly JsonObject[]> {
    const headers = headersFor(call);
    try {
      const body = await fetchJson(client, { path: '/models', headers }, call);
      const list = isRecord(body) ? (body.data ?? body.models) : body;
      return recordsIn(list);
    } catch (error) {
      throw scrub.of(headers)(error);
    }
  }

  const asked = new ServerFacts(client, settings.serverKind, headersFor);
  const table = new ModelTable(settings.models, {
    list: listed,
    look: (...about) => asked.look(...about),
    isOneForAll: (entries) => asked.isOneForAll(entries),
  });

  const counts = new TokenCounts(client, settings.serverKind, listed);
  async function countTokens(request: ModelRequest, call: UpstreamCall): Promise<number | undefined> {
    const headers = headersFor(call);
    const reasoningField = seen.get(request.model) ?? settings.reasoningField;
    const bodies = {
      model: request.model,
      chatBody: () => toChatBody(request, { ...settings, reasoningField }, UNREPORTED),
      responsesBody: () => toCountBody(request),
    };
    try {
      return await counts.count(bodies, headers, call);
    } catch (error) {
      throw scrub.of(headers)(error);
    }
  }

  const usual = scrub.of(fixedHeaders(settings, bearerHeaders(settings)));
  function redact(error: unknown, call?: UpstreamCall): unknown {
    return ((call && scrubs.get(call)) ?? usual)(error);
  }

  const stateOwner = stateOwnerFor('chat-completions', settings.baseURL);
  const { origin } = settings.baseURL;
  async function close(): Promise<void> {
    table.close();
    await client.close();
  }

  return {
    ...{ name: 'chat-completions', stateOwner, origin, stream, chat, pass, countTokens, redact, close },
    facts: (model, call) => table.facts(model, call),
    models: (call) => table.list(call),
  };
}

/** The names of tools as they were sent last. */
interface SentNames {
  names: ReadonlyMap<string, string> | undefined;
}

/** A longer request, in characters, is not kept until it is accepted, and so not sent once more in another form. */
const MAX_SECOND_TRY = 2 ** 20;

const UNREPORTED = { skipped: () => {}, leftOut: () => {} };

const NO_OUTPUT_SCHEMA: Note = {
  code: 'setting_dropped',
  message: "The 'output_schema' of tools has no place in a chat request; it is left out.",
};

/** The context for reading one answer. */
interface Answer {
  readonly scrubError: Scrub;
  readonly note: (note: Note) => void;
  readonly unexpected: (text: string, cause?: unknown) => Error;
  readonly saw: (field: ReasoningField) => void;
  /** The names of tools by those that were sent for them, if any differs. */
  readonly names: () => ReadonlyMap<string, string> | undefined;
}

/** Number of characters of the first data that are kept. */
const MAX_FIRST_LENGTH = 8192;

/** Decodes batch by batch, with the `finish` at the end. */
class Decoding implements Mapping<ChatBatch, readonly ModelEvent[]> {
  private readonly decoder: ChatDecoder;
  private readonly memo = chunkMemo();
  private readonly answer: Answer;
  /** The first data, kept until it is recognised as an answer. */
  private first = '';
  private failure: unknown = undefined;
  private done = false;

  constructor(think: boolean | 'prompted', answer: Answer) {
    this.decoder = chatDecoder({ think, note: answer.note });
    this.answer = answer;
  }

  map({ whole, data }: ChatBatch): readonly ModelEvent[] | undefined {
    const events: ModelEvent[] = [];
    try {
      for (const each of data) this.takeData(each, events);
      this.done = whole || isDone(data.at(-1) ?? '');
      if (this.done) this.finish(events, true);
    } catch (error) {
      this.failure = this.refusal(error);
    }
    this.restoreNames(events);
    // Events before an error still count; an empty batch means that the request was accepted.
    return events.length > 0 || data.length === 0 ? events : undefined;
  }

  shouldContinue(): boolean {
    if (this.failure) throw this.failure;
    return !this.done;
  }

  end(): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    try {
      this.finish(events, false);
    } catch (error) {
      throw this.refusal(error);
    }
    this.restoreNames(events);
    return events;
  }

  private restoreNames(events: ModelEvent[]): void {
    const names = this.answer.names();
    if (!names) return;
    for (const [at, event] of events.entries()) {
      const name = event.type === 'tool-call-delta' ? names.get(event.name ?? '') : undefined;
      // The cast: only the name differs.
      if (name !== undefined) events[at] = { ...event, name } as ModelEvent;
    }
  }

  /** Reports to the host the beginning of data that is not an answer. */
  private refusal(error: unknown): unknown {
    const { scrubError, unexpected } = this.answer;
    const isForeign = error instanceof ApiError && error.code === 'upstream_error' && !this.decoder.answered;
    if (!isForeign) return scrubError(error);
    return scrubError(new ApiError(error.code, error.message, { cause: unexpected(this.first, error.cause) }));
  }

  private finish(events: ModelEvent[], sawDone: boolean): void {
    this.decoder.end(events, sawDone);
    if (this.decoder.reasoningField) this.answer.saw(this.decoder.reasoningField);
  }

  private takeData(data: string, events: ModelEvent[]): void {
    const delta = this.memo.read(data);
    if (delta) this.decoder.takePlainDelta(delta, events);
    else if (data !== '' && !isDone(data)) this.takeChunk(data, events);
  }

  private takeChunk(data: string, events: ModelEvent[]): void {
    if (!this.decoder.answered) this.first ||= data.slice(0, MAX_FIRST_LENGTH);
    const chunk = parseJson(data);
    rememberArguments(chunk, data);
    this.decoder.take(chunk, events);
    // The slice references everything that was read with it.
    if (this.decoder.answered) this.first = '';
    this.memo.learn(data, chunk);
  }
}
