/** The endpoints of the Responses API as functions from a call to a reply, for any framework. */
import { type Activity, activity } from '../activity.ts';
import type { Call } from '../call.ts';
import { answered, type Endpoint, modelsEndpoint } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import { isResponseId } from '../ids.ts';
import type { CoreSettings } from '../options.ts';
import { jsonReply } from '../reply.ts';
import { fromStore, type StoredResponse } from '../store.ts';
import { wholeResource } from '../turn/keep.ts';
import { createResponse } from './create.ts';
import { page } from './list.ts';

/** Every endpoint, and what shuts them down. */
export interface ResponsesEndpoints {
  readonly create: Endpoint;
  readonly retrieve: Endpoint;
  readonly remove: Endpoint;
  readonly inputItems: Endpoint;
  readonly models: Endpoint;
  readonly drain: Activity['drain'];
}

/** The endpoints over these settings. */
export function responsesEndpoints(settings: CoreSettings): ResponsesEndpoints {
  const { store, limits } = settings;
  const turns = activity(limits.concurrentTurns);

  async function stored(call: Call): Promise<StoredResponse> {
    const id = responseIdIn(call);
    const response = await fromStore(() => store.get({ scope: call.scope, id }));
    if (!response) throw notFound(id);
    return response;
  }

  async function remove(call: Call) {
    const id = responseIdIn(call);
    if (!(await fromStore(() => store.delete({ scope: call.scope, id })))) throw notFound(id);
    return jsonReply({ id, object: 'response', deleted: true });
  }

  return {
    create: answered((call) => createResponse(call, settings, turns), settings),
    retrieve: answered(async (call) => {
      refuseReplay(call);
      return jsonReply(wholeResource(await stored(call)));
    }, settings),
    remove: answered(remove, settings),
    inputItems: answered(async (call) => jsonReply(page((await stored(call)).input, call.query)), settings),
    models: modelsEndpoint(settings),
    drain: turns.drain,
  };
}

function responseIdIn({ params }: Call): string {
  const id = String(params.id);
  if (!isResponseId(id)) throw notFound(id);
  return id;
}

function notFound(id: string): ApiError {
  return new ApiError('response_not_found', `Response with id '${id}' not found.`, { param: 'response_id' });
}

function refuseReplay({ query }: Call): void {
  if (query.stream !== 'true') return;
  const message = 'Only background responses can be streamed again, and they are not supported here.';
  throw new ApiError('unsupported_parameter', message, { param: 'stream' });
}
