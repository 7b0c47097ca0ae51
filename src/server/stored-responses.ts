/** Stored responses, as a client names one in a path and is shown it. */
import { failLostRun, wholeResource } from '../engine/history/keep-turn.ts';
import type { EndpointRequest } from '../engine/request/endpoint-request.ts';
import { itemPage } from '../engine/request/item-pages.ts';
import type { Limits } from '../ports/limits.ts';
import { fromStore, type ResponseStore, type StoredResponse } from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import { isResponseId, quoteId } from '../protocol/ids.ts';
import { type JsonReply, jsonReply } from '../protocol/reply.ts';
import { queryPresenter } from '../protocol/tool-calls/kinds.ts';

/** The id of the path. Throws `response_not_found` for one that no response has. */
export function responseIdIn({ params }: EndpointRequest): string {
  const id = String(params.id);
  if (!isResponseId(id)) throw responseNotFound(id);
  return id;
}

/** The error for a response that is not there, or that is another tenant's. */
export function responseNotFound(id: string): ApiError {
  return new ApiError('response_not_found', `Response with id ${quoteId(id)} not found.`, { param: 'response_id' });
}

/** The response of the path, as its client is shown it. Throws `response_not_found` and `store_error`. */
export async function findResponse(
  request: EndpointRequest,
  { store, limits }: { readonly store: ResponseStore; readonly limits: Pick<Limits, 'durationMs'> },
): Promise<StoredResponse> {
  const id = responseIdIn(request);
  const response = await fromStore(() => store.get({ scope: request.scope, id }));
  if (!response) throw responseNotFound(id);
  return failLostRun(response, limits.durationMs);
}

/** The response with the fields that the query asks for. */
export function storedReply({ query }: EndpointRequest, response: StoredResponse): JsonReply {
  return jsonReply(wholeResource({ ...response, output: response.output.map(queryPresenter(query)) }));
}

/** The page of its input items that the query asks for. */
export function inputItemsReply({ query }: EndpointRequest, { input }: StoredResponse): JsonReply {
  return jsonReply(itemPage(input, query));
}
