/** Resolves the references of a Responses body: the turns that it continues, and single items by their id. */

import { conversationItems } from '../../../engine/history/conversation.ts';
import { type History, loadHistory, resolveReferences } from '../../../engine/history/history.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { toolList } from '../../../engine/tools/toolset.ts';
import type { MaybePromise, StoredResponse } from '../../../ports/store.ts';
import type { InjectedTools, LoadedHistory, TurnContext } from '../../../ports/turn-context.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { conversationId, quotedId } from '../../../protocol/ids.ts';
import type { Item } from '../../../protocol/items.ts';
import { andThen, isRecord, type JsonObject } from '../../../protocol/record.ts';
import { noteOf, type PrepareSettings, reportingHistory } from '../../endpoint/prepare.ts';
import { readClientTools } from './client-tools.ts';
import { withTools } from './inject-tools.ts';
import { onTermsOf } from './server-tools.ts';

/**
 * Prepends the earlier items to the input, and inherits the tools of the continued response if the request has no tools
 * field. Throws as `loadHistory` does.
 */
export const loadRequestHistory = reportingHistory(addHistory);

function addHistory(request: EndpointRequest, settings: PrepareSettings): MaybePromise<EndpointRequest> {
  const { body, context = {}, scope } = request;
  if (context.history || !isRecord(body)) return request;
  const { store, limits } = settings;
  const conversation = conversationId(body.conversation);
  const own = ownItems(body.input);
  const note = noteOf(request, settings);
  const { historyBytes: maxBytes, historyTurns: maxResponses } = limits;
  const resolved = ({ items, previous }: History) => {
    const sources = { store, scope, history: items, maxBytes, maxResponses, note };
    const found = { previous, loaded: items, conversation };
    return andThen(resolveReferences(own, sources), (input) => {
      if (input.length === 0 && items.length === 0) refuseUnknown(own);
      return withHistory(request, body, found, input, input === own);
    });
  };
  if (!conversation) return andThen(loadHistory(store, scope, idIn(body), limits), resolved);
  return conversationItems(store, { scope, id: conversation }, maxBytes).then((items) =>
    resolved({ items, previous: undefined }),
  );
}

/** `isOwn` is whether the input is that of the request, with no reference resolved. */
function withHistory(
  request: EndpointRequest,
  body: JsonObject,
  history: LoadedHistory,
  input: readonly Item[],
  isOwn: boolean,
): EndpointRequest {
  const context = Object.assign({}, request.context, { history });
  const { previous, conversation, loaded } = history;
  if (!previous && !conversation) return { ...request, body: isOwn ? body : { ...body, input }, context };
  return inherit({ ...request, body: continued(body, loaded, input) }, previous, context);
}

/** Of references alone nothing is left that a model could answer. */
function refuseUnknown([first]: readonly Item[]): void {
  if (!first) return;
  throw new ApiError('item_not_found', `Item with id ${quotedId(first.id)} not found.`, { param: 'input[0].id' });
}

function idIn({ previous_response_id: id }: JsonObject): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

/** A text is one message of the user's. The cast: invalid items are left to the body's validation. */
function ownItems(input: unknown): readonly Item[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return (Array.isArray(input) ? input : []) as readonly Item[];
}

function continued(body: JsonObject, items: readonly unknown[], own: readonly Item[]): JsonObject {
  const { previous_response_id: _, conversation: __, ...rest } = body;
  return { ...rest, input: [...items, ...own] };
}

function inherit(
  request: EndpointRequest,
  previous: StoredResponse | undefined,
  context: TurnContext,
): EndpointRequest {
  // The cast: the caller has created this body.
  const body = request.body as JsonObject;
  const given = context.tools ? context.tools.client : toolList(body.tools);
  const { resource = {} } = previous ?? {};
  if (given || !Array.isArray(resource.tools)) return { ...request, context };
  const client = resource.tools.filter(isRecord);
  // The default has no effect, and not every server accepts a choice without tools.
  const inherited = client.length === 0 && resource.tool_choice === 'auto' ? undefined : resource.tool_choice;
  const choice = body.tool_choice ?? inherited;
  const chosen = choice === undefined ? body : { ...body, tool_choice: choice };
  if (!context.tools) return { ...request, body: client.length === 0 ? chosen : { ...chosen, tools: client }, context };
  const tools = joined(context.tools, client);
  return { ...request, body: withTools({ ...chosen, tools: client }, tools), context: { ...context, tools } };
}

/** A client's tool wins over the server-run tool of the same name, and its terms apply, inherited or not. */
function joined({ toolset }: InjectedTools, client: readonly JsonObject[]): InjectedTools {
  const names = readClientTools(client).known;
  return { toolset: new Map([...onTermsOf(client, toolset)].filter(([name]) => !names.has(name))), client };
}
