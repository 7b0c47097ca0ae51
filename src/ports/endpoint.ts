/** What all endpoints have in common: errors in the envelope, hooks told, the request's id on every answer. */

import { inDialect } from '../dialects/speak.ts';
import { type ApiError, toApiError } from '../protocol/errors.ts';
import { errorReply, jsonReply, type Reply } from '../protocol/reply.ts';
import type { CoreSettings } from '../server/options.ts';
import { hasLeft } from '../turn/lifetime.ts';
import type { Call } from './api-request.ts';
import { tell } from './hooks.ts';
import { HostError, ownError } from './host-error.ts';

/** One endpoint. It answers errors itself; it throws only where the client has left, or with what the host's own functions threw. */
export type Endpoint = (call: Call) => Promise<Reply>;

/** The endpoint with all of that around it. */
export function answered(endpoint: Endpoint, settings: CoreSettings): Endpoint {
  return async (call) => {
    const reply = await endpoint(call).catch((error: unknown) => {
      if (hasLeft(call.signal) || error instanceof HostError) throw ownError(error);
      return errorReplyTo(error, call, settings);
    });
    return inDialect(withRequestId(reply, call), settings.dialectOf(call.request));
  };
}

/** Answers an error and tells the host of it. */
export function errorReplyTo(error: unknown, call: Call, { hooks }: Pick<CoreSettings, 'hooks'>): Reply {
  const shown = toApiError(error);
  tell(hooks, 'onError', shown, { requestId: call.requestId });
  return withRequestId(errorReply(shown), call);
}

/** Every answer names its request. */
export function withRequestId(reply: Reply, { requestId }: Call): Reply {
  return { ...reply, headers: Object.assign({}, reply.headers, { 'x-request-id': requestId }) };
}

/** Answers a request that no other endpoint may see. */
export function refusal(error: ApiError, settings: CoreSettings): Endpoint {
  return answered(() => Promise.reject(error), settings);
}

/** `GET /models`: most clients read `data`, Codex reads `models` and `slug`. */
export function modelsEndpoint(settings: CoreSettings): Endpoint {
  const { upstream, limits } = settings;
  return answered(async (call) => {
    const listed = await upstream.models?.({
      signal: call.signal,
      headers: passedHeaders(call),
      limits,
      note: () => {},
    });
    const models = listed ?? [];
    const slugged = models.map((model) => ({ ...model, slug: model.id }));
    return jsonReply({ object: 'list', data: models, models: slugged });
  }, settings);
}

/** The client's headers, with the request's id whether the client or we chose it. */
export function passedHeaders({ headers, requestId }: Call): Headers {
  if (headers.get('x-request-id') === requestId) return headers;
  const passed = new Headers(headers);
  passed.set('x-request-id', requestId);
  return passed;
}
