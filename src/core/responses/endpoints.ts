/** The endpoints of the Responses API as functions from a call to a reply, for any framework. */
import { type Activity, activity } from '../activity.ts';
import type { Call } from '../call.ts';
import { ApiError, toApiError } from '../errors.ts';
import { tell } from '../hooks.ts';
import type { CoreSettings } from '../options.ts';
import { errorReply, jsonReply, type Reply } from '../reply.ts';
import { fromStore, type StoredResponse } from '../store.ts';
import { wholeResource } from '../turn/keep.ts';
import { createResponse } from './create.ts';
import { page } from './list.ts';

/** One endpoint. It answers errors itself; it throws only where the client has left. */
export type Endpoint = (call: Call) => Promise<Reply>;

/** Every endpoint, and what shuts them down. */
export interface ResponsesEndpoints {
  readonly create: Endpoint;
  readonly retrieve: Endpoint;
  readonly remove: Endpoint;
  readonly inputItems: Endpoint;
  readonly models: Endpoint;
  /** Answers a request that no other endpoint may see. */
  readonly refuse: (error: ApiError) => Endpoint;
  readonly drain: Activity['drain'];
}

/** The endpoints over these settings. */
export function responsesEndpoints(settings: CoreSettings): ResponsesEndpoints {
  const { store, upstream, limits } = settings;
  const turns = activity(limits.concurrentTurns);
  const answered = (endpoint: Endpoint) => answer(endpoint, settings);

  async function stored({ scope, params }: Call): Promise<StoredResponse> {
    const id = String(params.id);
    const response = await fromStore(() => store.get({ scope, id }));
    if (!response) throw notFound(id);
    return response;
  }

  return {
    create: answered((call) => createResponse(call, settings, turns)),
    retrieve: answered(async (call) => {
      refuseReplay(call);
      return jsonReply(wholeResource(await stored(call)));
    }),
    remove: answered(async ({ scope, params }) => {
      const id = String(params.id);
      if (!(await fromStore(() => store.delete({ scope, id })))) throw notFound(id);
      return jsonReply({ id, object: 'response', deleted: true });
    }),
    inputItems: answered(async (call) => jsonReply(page((await stored(call)).input, call.query))),
    models: answered(async ({ signal, headers, requestId }) => {
      if (!upstream.models) return modelsReply([]);
      const note = () => {};
      const passed = new Headers(headers);
      passed.set('x-request-id', requestId);
      return modelsReply(await upstream.models({ signal, headers: passed, limits, note }));
    }),
    refuse: (error) => answered(() => Promise.reject(error)),
    drain: turns.drain,
  };
}

/** The endpoint with its errors in the envelope, the hooks told, and the request's id on every answer. */
function answer(endpoint: Endpoint, { hooks }: CoreSettings): Endpoint {
  return async (call) => {
    const reply = await endpoint(call).catch((error: unknown) => {
      if (call.signal.aborted) throw error;
      const shown = toApiError(error);
      if (shown !== error && !hooks.onError) process.emitWarning(error as Error);
      tell(hooks, 'onError', shown, call);
      return errorReply(shown);
    });
    return { ...reply, headers: { ...reply.headers, 'x-request-id': call.requestId } };
  };
}

function notFound(id: string): ApiError {
  return new ApiError('response_not_found', `Response with id '${id}' not found.`, { param: 'response_id' });
}

function refuseReplay({ query }: Call): void {
  if (query.stream !== 'true') return;
  const message = 'Only background responses can be streamed again, and they are not supported here.';
  throw new ApiError('unsupported_parameter', message, { param: 'stream' });
}

/** Most clients read `data`, Codex reads `models` and `slug`. */
function modelsReply(models: readonly Readonly<Record<string, unknown>>[]): Reply {
  const slugged = models.map((model) => ({ ...model, slug: model.id }));
  return jsonReply({ object: 'list', data: models, models: slugged });
}
