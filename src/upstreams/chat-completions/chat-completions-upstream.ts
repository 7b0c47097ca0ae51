/** The upstream for any Chat Completions server. */

import type { ChatBatch, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { type ChatDecoder, chatDecoder } from '../../protocol/chat-completions/decoder.ts';
import { chunkMemo } from '../../protocol/chat-completions/fast-path/chunk-memo.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord } from '../../protocol/record.ts';
import { scrubber } from '../../protocol/scrub.ts';
import { type Mapping, mapped, type Pieces } from '../../streams/pull-stream.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { exchange, fetchJson, parseJson } from '../http/exchange.ts';
import { httpClient } from '../http/http.ts';
import { bearer, requestHeaders } from '../http/server-options.ts';
import { toChatBody } from './chat-body.ts';
import { type ChatCompletionsOptions, type ChatSettings, chatSettings } from './chat-options.ts';

export type { ChatCompletionsOptions } from './chat-options.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Talks to `POST {baseURL}/chat/completions`, always asking for a stream; a server that answers with one JSON object
 * works too. Without `baseURL` and `apiKey` it reads `OPENAI_BASE_URL` and `OPENAI_API_KEY`, as OpenAI's SDKs do.
 * Throws a `TypeError` for a bad option.
 */
export function chatCompletionsUpstream(options: ChatCompletionsOptions = {}): Upstream {
  const settings = chatSettings(options);
  const client = httpClient(settings);
  const scrub = scrubber(settings);
  const headersFor = ({ headers }: UpstreamCall) => requestHeaders(settings, bearer(settings), headers);

  function chat(body: Fields, call: UpstreamCall): Pieces<ChatBatch> {
    const request = { path: '/chat/completions', headers: headersFor(call), body: JSON.stringify(body) };
    return exchange(client, { isLast: isDone, shown: scrub, ...request }, call);
  }

  function stream(request: ModelRequest, call: UpstreamCall): Pieces<readonly ModelEvent[]> {
    const body = toChatBody(request, settings, (item) => call.note(skipped(item.type)));
    return mapped(chat(body, call), new Decoding(settings, scrub));
  }

  async function models(call: UpstreamCall): Promise<readonly Fields[]> {
    try {
      return modelList(await fetchJson(client, { path: '/models', headers: headersFor(call) }, call));
    } catch (error) {
      throw scrub(error);
    }
  }

  return { name: 'chat-completions', stream, chat, redact: scrub, models, close: () => client.close() };
}

function skipped(type: string) {
  return { code: 'item_skipped', message: `Input items of type '${type}' have no place in a chat request.` } as const;
}

/** Decodes batch by batch, with the `finish` at the end. */
class Decoding implements Mapping<ChatBatch, readonly ModelEvent[]> {
  private readonly decoder: ChatDecoder;
  private readonly memo = chunkMemo();
  private readonly scrub: (error: unknown) => unknown;
  private failure: unknown = undefined;
  private done = false;

  constructor({ thinkTags }: ChatSettings, scrub: (error: unknown) => unknown) {
    this.decoder = chatDecoder({ think: thinkTags });
    this.scrub = scrub;
  }

  map({ whole, data }: ChatBatch): readonly ModelEvent[] | undefined {
    const events: ModelEvent[] = [];
    try {
      for (const each of data) this.takeData(each, events);
      this.done = whole || isDone(data.at(-1) ?? '');
      if (this.done) this.decoder.end(events, true);
    } catch (error) {
      this.failure = this.scrub(error);
    }
    // What came before an error still counts, and an empty batch says that the request was taken.
    return events.length > 0 || data.length === 0 ? events : undefined;
  }

  goesOn(): boolean {
    if (this.failure) throw this.failure;
    return !this.done;
  }

  end(): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    this.decoder.end(events, false);
    return events;
  }

  private takeData(data: string, events: ModelEvent[]): void {
    const said = this.memo.read(data);
    if (said) this.decoder.takeSaid(said, events);
    else if (data !== '' && !isDone(data)) this.takeChunk(data, events);
  }

  private takeChunk(data: string, events: ModelEvent[]): void {
    const chunk = parseJson(data);
    this.decoder.take(chunk, events);
    this.memo.learn(data, chunk);
  }
}

function modelList(body: unknown): readonly Readonly<Record<string, unknown>>[] {
  const list = isRecord(body) ? (body.data ?? body.models) : body;
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
