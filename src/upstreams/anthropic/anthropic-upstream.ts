/** The upstream for Anthropic's Messages API. */

import type { ChatBatch, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { textWithInputs } from '../../protocol/anthropic/tool-inputs.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { withAnswerLimit } from '../http/answer-limit.ts';
import { stateOwnerFor } from '../http/base-path.ts';
import { exchange, fetchJson } from '../http/exchange.ts';
import { ModelServer } from '../http/model-server.ts';
import { ModelTable } from '../http/model-table.ts';
import { WithoutFields } from '../http/refusals/without-fields.ts';
import { toMessagesBody } from './body.ts';
import { isLast, MessagesTurn } from './messages-turn.ts';
import { type AnthropicOptions, anthropicSettings } from './options.ts';

export type { AnthropicOptions, ServerTool } from './options.ts';
export { ADAPTIVE_THINKING, BUDGET_THINKING, type Thinking, type ThinkingTable } from './thinking.ts';

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
  const server = new ModelServer(
    'anthropicUpstream',
    { ...settings, variables: 'ANTHROPIC' },
    { 'anthropic-version': settings.version, ...(settings.apiKey ? { 'x-api-key': settings.apiKey } : {}) },
  );
  const { client, noteOnce } = server;
  const without = new WithoutFields(OPTIONAL_FIELDS);

  async function* stream(request: ModelRequest, call: UpstreamCall): AsyncGenerator<readonly ModelEvent[]> {
    const headers = server.headers(call);
    const { maxOutputTokens } = table.now(request.model);
    const { request: fitting, note } = withAnswerLimit(request, maxOutputTokens);
    if (note) noteOnce(call, note);
    // The API requires a limit, so the host's own is one too.
    const maxTokens = Math.min(settings.maxTokens, maxOutputTokens ?? settings.maxTokens);
    try {
      yield* new MessagesTurn(server, { ...settings, maxTokens }, call, { headers, without }).events(fitting);
    } catch (error) {
      throw server.scrubFor(headers)(error);
    }
  }

  function messages(body: JsonObject, call: UpstreamCall): AsyncIterable<ChatBatch> {
    // Fields of a request may need what the client names here.
    const beta = call.headers.get('anthropic-beta');
    const headers = { ...(beta === null ? {} : { 'anthropic-beta': beta }), ...server.headers(call) };
    const scrubError = server.scrubFor(headers, call);
    // The host's tools are part of every request; the client's own of the same name win.
    const clientTools = recordsIn(body.tools);
    const hostTools = settings.serverTools.filter(({ name }) => !clientTools.some((tool) => tool.name === name));
    const text = textWithInputs(hostTools.length > 0 ? { ...body, tools: [...clientTools, ...hostTools] } : body);
    return exchange(client, { path: '/messages', headers, body: text, isLast, scrubError }, call);
  }

  async function listed(call: UpstreamCall): Promise<readonly JsonObject[]> {
    const path = settings.baseURL.search ? '/models' : `/models?limit=${MODELS}`;
    const headers = server.headers(call);
    return await server.withoutSecrets(headers, async () => {
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
    });
  }

  async function countTokens(request: ModelRequest, call: UpstreamCall): Promise<number | undefined> {
    const headers = server.headers(call);
    const fields = toMessagesBody(request, settings, () => {});
    const body = JSON.stringify(Object.fromEntries(COUNTED.map((name) => [name, fields[name]])));
    return await server.withoutSecrets(headers, async () => {
      const answer = await fetchJson(client, { path: '/messages/count_tokens', headers, body }, call);
      const tokens = isRecord(answer) ? answer.input_tokens : undefined;
      return typeof tokens === 'number' ? tokens : undefined;
    });
  }

  const table = new ModelTable(settings.models, { list: listed });
  return {
    name: 'anthropic',
    stateOwner: stateOwnerFor('anthropic', settings.baseURL),
    origin: settings.baseURL.origin,
    stream,
    messages,
    countTokens,
    redact: (error, call) => server.redact(error, call),
    facts: (model, call) => table.facts(model, call),
    models: (call) => table.list(call),
    async close() {
      table.close();
      await client.close();
    },
  };
}

/** Fields without which a request means the same. */
const OPTIONAL_FIELDS = ['temperature', 'top_p', 'top_k', 'service_tier', 'metadata', 'output_config.effort'];

/** The fields that are input; the API refuses any other where it only counts. */
const COUNTED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config'];

/** Anthropic's clients are shown them again. */
const SHOWN_FIELDS = ['display_name', 'max_input_tokens', 'max_tokens'] as const;
