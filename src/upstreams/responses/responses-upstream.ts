/** The upstream for other servers of the Responses API. */

import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import type { PullStream } from '../../streams/pull-stream.ts';
import { secondTry } from '../../streams/second-try.ts';
import { withAnswerLimit } from '../http/answer-limit.ts';
import { stateOwnerFor } from '../http/base-path.ts';
import { fetchJson } from '../http/exchange.ts';
import { ModelServer } from '../http/model-server.ts';
import { ModelTable } from '../http/model-table.ts';
import { WithoutFields } from '../http/refusals/without-fields.ts';
import { bearerHeaders } from '../http/server-options.ts';
import { skippedItem } from '../http/skipped-item.ts';
import { mayReachWeb, toResponsesBody } from './body.ts';
import { type ResponsesOptions, responsesSettings } from './options.ts';
import { asFunctions, secondRequest } from './second-request.ts';
import { streamAnswer } from './stream-answer.ts';

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
  const server = new ModelServer('responsesUpstream', settings, bearerHeaders(settings));
  const { client, noteOnce } = server;
  const without = new WithoutFields(OPTIONAL_FIELDS);
  const answer = (fields: JsonObject, offered: ModelRequest, call: UpstreamCall) =>
    streamAnswer(server, fields, offered, call, without);

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
      const second = secondRequest(error, fitting, mayRefuseTypes);
      if (!second) return undefined;
      call.note(second.note);
      if (!second.isOfFunctions)
        return answer(
          toResponsesBody(second.request, settings, () => {}, isNative),
          fitting,
          call,
        );
      if (functionModels.size < MAX_MODELS) functionModels.add(request.model);
      return answer(toResponsesBody(fitting, settings, skipped, false), asFunctions(fitting), call);
    });
  }

  const { nativeTools } = settings;
  const takes = (type: string) => (typeof nativeTools === 'boolean' ? nativeTools : nativeTools.includes(type));

  async function listed(call: UpstreamCall): Promise<readonly JsonObject[]> {
    const headers = server.headers(call);
    return await server.withoutSecrets(headers, async () => {
      const body = await fetchJson(client, { path: '/models', headers }, call);
      return isRecord(body) ? recordsIn(body.data) : [];
    });
  }

  const table = new ModelTable(settings.models, { list: listed });

  return {
    name: 'responses',
    stateOwner: stateOwnerFor('responses', settings.baseURL),
    origin: settings.baseURL.origin,
    stream,
    nativeTypes: () => takes,
    redact: (error) => server.redact(error),
    facts: (model, call) => table.facts(model, call),
    models: (call) => table.list(call),
    async close() {
      table.close();
      await client.close();
    },
  };
}

/** Fields without which a request means the same. */
const OPTIONAL_FIELDS = [
  ...['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs', 'metadata', 'user'],
  ...['service_tier', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
  ...['reasoning.effort', 'reasoning.summary', 'text.verbosity'],
  // A model that does not reason has nothing to be sent back.
  'include.reasoning.encrypted_content',
];
/** The most models that are remembered. */
const MAX_MODELS = 1000;
