/** The upstream for other servers of the Responses API. */

import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { cleanNote, type Scrub, scrubber } from '../../protocol/secrets/scrub.ts';
import { type Mapping, mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { secondTry } from '../../streams/second-try.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { withAnswerLimit } from '../http/answer-limit.ts';
import { stateOwnerFor } from '../http/base-path.ts';
import { type AnswerBatch, exchange, fetchJson, parseJson } from '../http/exchange.ts';
import { httpClient } from '../http/http.ts';
import { ModelTable } from '../http/model-table.ts';
import { noteOncePerCall } from '../http/note-once.ts';
import { bearerHeaders, fixedHeaders, requestHeaders } from '../http/server-options.ts';
import { skippedItem } from '../http/skipped-item.ts';
import { STATE_REJECTED, withoutThoughts } from '../http/without-thoughts.ts';
import { mayReachWeb, toResponsesBody } from './body.ts';
import { type ResponsesDecoder, responsesDecoder } from './decoder.ts';
import { type ResponsesOptions, responsesSettings } from './options.ts';

export type { HostedTool, ResponsesOptions } from './options.ts';

/**
 * Talks to `POST {baseURL}/responses`, always requesting a stream and no storage; a server that answers with
 * one JSON object works too. Without `baseURL` and `apiKey` it reads `OPENAI_BASE_URL` and `OPENAI_API_KEY`, as OpenAI's
 * SDKs do. It has no `chat`, so it serves the Responses API only. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { responsesUpstream } from 'express-open-responses/upstreams/responses';
 *
 * const router = responsesRouter({ upstream: responsesUpstream({ serverTools: [{ type: 'web_search' }] }) });
 * ```
 */
export function responsesUpstream(options: ResponsesOptions = {}): Upstream {
  const settings = responsesSettings(options);
  const client = httpClient(settings);
  const scrub = scrubber(settings);
  const headersFor = ({ headers }: UpstreamCall) =>
    requestHeaders('responsesUpstream', settings, bearerHeaders(settings), headers);

  function answer(fields: JsonObject, offered: ModelRequest, call: UpstreamCall): PullStream<readonly ModelEvent[]> {
    const headers = headersFor(call);
    const scrubError = scrub.of(headers);
    const httpRequest = {
      path: '/responses',
      headers,
      body: JSON.stringify(fields),
      isLast: isDone,
      scrubError,
    };
    const note = cleanNote(call.note, scrub.textOf(headers));
    return mapStream(exchange(client, httpRequest, call), new Decoding(responsesDecoder(note, offered), scrubError));
  }

  const noteOnce = noteOncePerCall();
  /** The models whose server takes functions only. */
  const functionModels = new Set<string>();

  function stream(request: ModelRequest, call: UpstreamCall): PullStream<readonly ModelEvent[]> {
    const skipped = (item: Item) => noteOnce(call, skippedItem(item, 'a request there'));
    const unsent = { top_k: request.topK, stop_sequences: request.stopSequences };
    for (const [setting, value] of Object.entries(unsent)) {
      const message = `The Responses API has no '${setting}'; it is left out.`;
      if (value !== undefined) noteOnce(call, { code: 'setting_dropped', message });
    }
    for (const { tool } of request.native?.tools ?? []) {
      if (!mayReachWeb(tool, settings)) continue;
      const message = `'external_web_access' is false, and the model server is not known to obey; the tool '${tool.type}' is left out.`;
      noteOnce(call, { code: 'tool_dropped', message });
    }
    const { maxOutputTokens } = table.now(request.model);
    const { request: fitting, note } = withAnswerLimit(request, maxOutputTokens);
    if (note) noteOnce(call, note);
    const isNative = !functionModels.has(request.model);
    const fields = toResponsesBody(fitting, settings, skipped, isNative);
    const first = answer(fields, isNative ? fitting : asFunctions(fitting), call);
    const mayRefuseTypes = isNative && fitting.native !== undefined && fitting.native.tools.length > 0;
    const input: readonly unknown[] = Array.isArray(fields.input) ? fields.input : [];
    const hasThoughts = input.some((item) => isRecord(item) && item.type === 'reasoning');
    if (!hasThoughts && !mayRefuseTypes) return first;
    return secondTry(first, (error) => {
      if (mayRefuseTypes && refusesTypes(error) && fitting.native?.choice.length === 0) {
        if (functionModels.size < MAX_MODELS) functionModels.add(request.model);
        call.note(FUNCTIONS_ONLY);
        return answer(toResponsesBody(fitting, settings, skipped, false), asFunctions(fitting), call);
      }
      const isStateRejected = error instanceof ApiError && error.code === 'invalid_encrypted_content';
      if (!isStateRejected) return undefined;
      call.note(STATE_REJECTED);
      const body = toResponsesBody(withoutThoughts(fitting), settings, () => {}, isNative);
      return answer(body, fitting, call);
    });
  }

  const { nativeTools } = settings;
  const takes = (type: string) => (typeof nativeTools === 'boolean' ? nativeTools : nativeTools.includes(type));

  async function listed(call: UpstreamCall): Promise<readonly JsonObject[]> {
    const headers = headersFor(call);
    try {
      const body = await fetchJson(client, { path: '/models', headers }, call);
      return isRecord(body) ? recordsIn(body.data) : [];
    } catch (error) {
      throw scrub.of(headers)(error);
    }
  }

  const table = new ModelTable(settings.models, { list: listed });

  return {
    name: 'responses',
    stateOwner: stateOwnerFor('responses', settings.baseURL),
    origin: settings.baseURL.origin,
    stream,
    nativeTypes: () => takes,
    redact: scrub.of(fixedHeaders(settings, bearerHeaders(settings))),
    facts: (model, call) => table.facts(model, call),
    models: (call) => table.list(call),
    async close() {
      table.close();
      await client.close();
    },
  };
}

/** The most models that are remembered. */
const MAX_MODELS = 1000;

const FUNCTIONS_ONLY: Note = {
  code: 'tool_dropped',
  message:
    "The model server takes functions only: the client's other tools are offered as functions, without those that a server runs. Set `nativeTools` to false.",
};

function asFunctions({ native: _, ...request }: ModelRequest): ModelRequest {
  return request;
}

/** Whether the server knows no tools of such types, and so cannot run them for any client. */
function refusesTypes(error: unknown): boolean {
  if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 422)) return false;
  const text = error.message.toLowerCase();
  return /\btools?\b/.test(`${text} ${error.body.param ?? ''}`) && /\btype\b/.test(text) && /\bfunction\b/.test(text);
}

/** Decodes batch by batch; the decoder detects the end, because few servers write `[DONE]`. */
class Decoding implements Mapping<AnswerBatch, readonly ModelEvent[]> {
  private readonly decoder: ResponsesDecoder;
  private readonly scrub: Scrub;
  private failure: unknown = undefined;

  constructor(decoder: ResponsesDecoder, scrub: Scrub) {
    this.decoder = decoder;
    this.scrub = scrub;
  }

  map({ data }: AnswerBatch): readonly ModelEvent[] | undefined {
    const events: ModelEvent[] = [];
    try {
      for (const each of data) if (!this.decoder.done) this.take(each, events);
    } catch (error) {
      this.failure = this.scrub(error);
    }
    // Events before an error still count; an empty batch means that the request was accepted.
    return events.length > 0 || data.length === 0 ? events : undefined;
  }

  shouldContinue(): boolean {
    if (this.failure) throw this.failure;
    return !this.decoder.done;
  }

  end(): readonly ModelEvent[] {
    throw this.scrub(new ApiError('upstream_truncated', 'The model server broke off its answer.'));
  }

  private take(data: string, events: ModelEvent[]): void {
    if (data !== '' && !isDone(data)) this.decoder.take(parseJson(data), events);
  }
}
