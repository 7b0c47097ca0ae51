/** The list of models, in the shape that the client's own API has. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Limits } from '../../ports/limits.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { anthropicError } from '../../protocol/anthropic/envelope.ts';
import { anthropicModel, anthropicModels } from '../../protocol/anthropic/models.ts';
import { ApiError } from '../../protocol/errors.ts';
import { quoteId } from '../../protocol/ids.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { jsonReply } from '../../protocol/reply.ts';
import { codexModels } from '../../protocol/responses/codex-models.ts';
import {
  type Endpoint,
  type EndpointSettings,
  type Envelope,
  endpointFor,
  passedHeaders,
  refusalEndpoint,
} from './endpoint.ts';
import type { Route } from './routes.ts';

interface ModelsSettings extends EndpointSettings {
  readonly upstream: Upstream;
  readonly limits: Limits;
}

/** How Anthropic's clients read errors. */
export const ANTHROPIC: Envelope = { error: anthropicError, idHeader: 'request-id' };

/** The routes of the models. */
export function modelRoutes(settings: ModelsSettings): readonly Route[] {
  const inClientsEnvelope: ModelsSettings = {
    ...settings,
    envelopeOf: (request) => (speaksAnthropic(request) ? ANTHROPIC : undefined),
  };
  const model = modelEndpoint(inClientsEnvelope);
  return [
    { method: 'GET', path: '/models', endpoint: modelsEndpoint(inClientsEnvelope) },
    ...MODEL_PATHS.map((path): Route => ({ method: 'GET', path, endpoint: model })),
  ];
}

/** Some clients do not encode the slashes in a name such as `org/model` or `accounts/fireworks/models/llama`. */
const MODEL_PATHS = [
  '/models/:id',
  '/models/:owner/:id',
  '/models/:account/:owner/:id',
  '/models/:accounts/:account/:owner/:id',
] as const;
const NAME_PARTS = ['accounts', 'account', 'owner', 'id'];

/** `GET /models`: most clients read `data`; Anthropic's have a list of their own, and Codex has a catalogue. */
function modelsEndpoint(settings: ModelsSettings): Endpoint {
  return endpointFor(async (request) => {
    const models = await listModels(request, settings);
    if (speaksAnthropic(request)) return jsonReply(anthropicModels(models));
    if (isCodex(request)) return jsonReply(codexModels(models));
    return jsonReply({ object: 'list', data: models, models: models.map((model) => ({ ...model, slug: model.id })) });
  }, settings);
}

/** `GET /models/:id`. */
function modelEndpoint(settings: ModelsSettings): Endpoint {
  return endpointFor(async (request) => {
    const id = NAME_PARTS.flatMap((part) => request.params[part] ?? []).join('/');
    const model = (await listModels(request, settings)).find((each) => each.id === id);
    if (!model) throw new ApiError('model_not_found', `The model ${quoteId(id)} does not exist.`, { param: 'model' });
    return jsonReply(speaksAnthropic(request) ? anthropicModel(model) : model);
  }, settings);
}

/**
 * The endpoint for OpenAI's clients alone: Anthropic's have an API at the same path that is not served, and read in
 * their own words that it is not.
 */
export function notForAnthropic(endpoint: Endpoint, settings: EndpointSettings): Endpoint {
  const refused = refusalEndpoint(new ApiError('not_found', NOT_SERVED), { ...settings, envelopeOf: () => ANTHROPIC });
  return (request) => (speaksAnthropic(request) ? refused(request) : endpoint(request));
}

const NOT_SERVED = "This server does not serve Anthropic's Files API.";

/** All of Anthropic's clients send this header, and no other. */
function speaksAnthropic({ headers }: EndpointRequest): boolean {
  return headers.has('anthropic-version');
}

/** Codex names its version in the query of this path, and itself in headers of every request. */
function isCodex({ query, headers }: EndpointRequest): boolean {
  const names = [headers.get('originator'), headers.get('user-agent')];
  return typeof query.client_version === 'string' || names.some((name) => name !== null && /^codex[_ /-]/i.test(name));
}

async function listModels(
  request: EndpointRequest,
  { upstream, limits }: ModelsSettings,
): Promise<readonly JsonObject[]> {
  const { signal } = request;
  return (await upstream.models?.({ signal, headers: passedHeaders(request), limits, note: () => {} })) ?? [];
}
