/** Resolves the references of a Responses body: the turns that it continues, and single items by their id. */

import { conversationItems } from '../../../engine/history/conversation.ts';
import { type History, loadHistory, resolveReferences } from '../../../engine/history/history.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { toolList } from '../../../engine/tools/toolset.ts';
import type { MaybePromise, ResponseKey, ResponseStore, StoredResponse } from '../../../ports/store.ts';
import type { InjectedTools, TurnContext } from '../../../ports/turn-context.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { conversationId, quoteId } from '../../../protocol/ids.ts';
import type { Item } from '../../../protocol/items.ts';
import { isRecord, type JsonObject, mapMaybePromise } from '../../../protocol/record.ts';
import { noteReporter, type PrepareSettings, reportingHistory } from '../../endpoint/prepare.ts';
import { readClientTools } from './tools/client-tools.ts';
import { withTools } from './tools/inject-tools.ts';
import { toolsetOnTerms } from './tools/server-tools.ts';

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
  const { previous_response_id: previousId } = body;
  const loaded =
    conversation !== undefined
      ? loadConversation(store, { scope, id: conversation }, limits.historyBytes)
      : loadHistory(store, scope, typeof previousId === 'string' ? previousId : undefined, limits);
  return mapMaybePromise(loaded, (history) => addLoaded(request, body, { ...history, conversation }, settings));
}

async function loadConversation(store: ResponseStore, key: ResponseKey, maxBytes: number): Promise<History> {
  return { items: await conversationItems(store, key, maxBytes), previous: undefined };
}

function addLoaded(
  request: EndpointRequest,
  body: JsonObject,
  { items, previous, conversation }: History & { readonly conversation: string | undefined },
  settings: PrepareSettings,
): MaybePromise<EndpointRequest> {
  // A text is one message of the user's. The cast: invalid items are left to the body's validation.
  const own = (
    typeof body.input === 'string'
      ? [{ type: 'message', role: 'user', content: body.input }]
      : Array.isArray(body.input)
        ? body.input
        : []
  ) as readonly Item[];
  const { store, limits } = settings;
  const { historyBytes: maxBytes, historyTurns: maxResponses } = limits;
  const sources = () => ({
    ...{ store, scope: request.scope, history: items, maxBytes, maxResponses },
    note: noteReporter(request, settings),
  });
  return mapMaybePromise(resolveReferences(own, sources), (input) => {
    const [reference] = own;
    // Of references alone nothing is left that a model could answer.
    if (input.length === 0 && items.length === 0 && reference)
      throw new ApiError('item_not_found', `Item with id ${quoteId(reference.id)} not found.`, {
        param: 'input[0].id',
      });

    const history = { previous, loaded: items, conversation };
    const context = Object.assign({}, request.context, { history });
    if (!previous && !conversation) return { ...request, body: input === own ? body : { ...body, input }, context };
    const { previous_response_id: _, conversation: __, ...rest } = body;
    return inheritTools(request, { ...rest, input: [...items, ...input] }, previous, context);
  });
}

/** The request with this body and context, and the tools of the continued response where it has no tools field. */
function inheritTools(
  request: EndpointRequest,
  body: JsonObject,
  previous: StoredResponse | undefined,
  context: TurnContext,
): EndpointRequest {
  const { tools: injected } = context;
  const ownTools = injected ? injected.client : toolList(body.tools);
  const { resource = {} } = previous ?? {};
  if (ownTools || !Array.isArray(resource.tools)) return { ...request, body, context };
  const client = resource.tools.filter(isRecord);
  // The default has no effect, and not every server accepts a choice without tools.
  const inherited = client.length === 0 && resource.tool_choice === 'auto' ? undefined : resource.tool_choice;
  const choice = body.tool_choice ?? inherited;
  const chosen = choice === undefined ? body : { ...body, tool_choice: choice };
  if (!injected) return { ...request, body: client.length === 0 ? chosen : { ...chosen, tools: client }, context };
  // A client's tool wins over the server-run tool of the same name, and its terms apply, inherited or not.
  const names = readClientTools(client).known;
  const toolset = new Map([...toolsetOnTerms(client, injected.toolset)].filter(([name]) => !names.has(name)));
  const tools: InjectedTools = { toolset, client };
  return { ...request, body: withTools({ ...chosen, tools: client }, tools), context: { ...context, tools } };
}
