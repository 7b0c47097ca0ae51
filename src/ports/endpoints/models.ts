/** The list of models, in the shape that the client's own API has. */

import { anthropicError } from '../../protocol/anthropic/envelope.ts';
import { anthropicModel, anthropicModels } from '../../protocol/anthropic/models.ts';
import { ApiError } from '../../protocol/errors.ts';
import { quotedId } from '../../protocol/ids.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { jsonReply } from '../../protocol/reply.ts';
import type { Limits } from '../limits.ts';
import type { Upstream } from '../upstream.ts';
import { answered, type Endpoint, type EndpointSettings, type Envelope, passedHeaders } from './endpoint.ts';
import type { EndpointRequest } from './endpoint-request.ts';

interface ModelsSettings extends EndpointSettings {
  readonly upstream: Upstream;
  readonly limits: Limits;
}

/** How Anthropic's clients read errors. */
export const ANTHROPIC: Envelope = { error: anthropicError, idHeader: 'request-id' };

/** `GET /models`: most clients read `data`, Codex reads `models` and `slug`, Anthropic's have a list of their own. */
export function modelsEndpoint(settings: ModelsSettings): Endpoint {
  return answered(async (request) => {
    const models = await modelsOf(request, settings);
    return jsonReply(speaksAnthropic(request) ? anthropicModels(models) : openaiModels(models));
  }, inClientsEnvelope(settings));
}

/** `GET /models/:id`. */
export function modelEndpoint(settings: ModelsSettings): Endpoint {
  return answered(async (request) => {
    const { id } = request.params;
    const model = (await modelsOf(request, settings)).find((each) => each.id === id);
    if (!model) throw new ApiError('not_found', `The model ${quotedId(id)} does not exist.`, { param: 'model' });
    return jsonReply(speaksAnthropic(request) ? anthropicModel(model) : model);
  }, inClientsEnvelope(settings));
}

/** All of Anthropic's clients send this header, and no other. */
function speaksAnthropic({ headers }: EndpointRequest): boolean {
  return headers.has('anthropic-version');
}

function inClientsEnvelope(settings: ModelsSettings): ModelsSettings {
  return { ...settings, envelopeOf: (request) => (speaksAnthropic(request) ? ANTHROPIC : undefined) };
}

async function modelsOf(
  request: EndpointRequest,
  { upstream, limits }: ModelsSettings,
): Promise<readonly JsonObject[]> {
  const { signal } = request;
  return (await upstream.models?.({ signal, headers: passedHeaders(request), limits, note: () => {} })) ?? [];
}

function openaiModels(models: readonly JsonObject[]): JsonObject {
  return { object: 'list', data: models, models: models.map((model) => ({ ...model, slug: model.id })) };
}
