/** `POST /responses/input_tokens`: counts the tokens of a request before it is answered. */

import { countedRequest } from '../../engine/guarding/request/guarded-body.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { countInput } from '../../engine/tokens/count-input.ts';
import { beginTurn, withinTurn } from '../../engine/turn/lifetime.ts';
import { isPresent, isRecord, type JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import { passedHeaders } from '../endpoint/endpoint.ts';
import { noteReporter } from '../endpoint/prepare.ts';
import { prepareRequest } from './pipeline.ts';
import { type PromptSettings, resolvePrompt } from './steps/resolve-prompt.ts';
import { responseAgents } from './turn/response-agents.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';

/** Replaces a missing model name: every encoding counts a text without a model. */
const NO_MODEL = 'unknown';

/**
 * Counts the model's input, including history and tools. Throws `ApiError` as `POST /responses` does. Counts as a turn.
 */
export async function countInputTokens(
  apiRequest: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<JsonReply> {
  const life = beginTurn(apiRequest, settings.limits.durationMs, turns);
  const { signal } = life;
  try {
    return await withinTurn(life, async () => {
      const body = await countedBody({ ...apiRequest, signal }, settings);
      const prepared = await prepareRequest({ ...apiRequest, body, signal }, settings);
      const agents = responseAgents(apiRequest, settings, signal, false);
      const { request, guards } = agents?.begin(prepared).prepared ?? prepared;
      const headers = passedHeaders(apiRequest);
      const call = { signal, headers, limits: settings.limits, note: noteReporter(apiRequest, settings) };
      const tokens = await countInput(await countedRequest(request, guards), call, settings);
      return jsonReply({ object: 'response.input_tokens', input_tokens: tokens });
    });
  } finally {
    life.leave();
  }
}

/** The body with the fields that only an answer needs, where neither it nor its prompt has them. */
async function countedBody(
  apiRequest: EndpointRequest,
  settings: ResponsesApiSettings & PromptSettings,
): Promise<unknown> {
  const { body } = apiRequest;
  if (!isRecord(body)) return body;
  const named = isPresent(body.prompt) ? await resolvePrompt(apiRequest, body, settings) : undefined;
  // The cast: `resolvePrompt` makes a body of a body.
  const sent = named ? { ...(named.body as JsonObject), prompt: null } : body;
  return { ...sent, model: sent.model ?? NO_MODEL, input: sent.input ?? [] };
}
