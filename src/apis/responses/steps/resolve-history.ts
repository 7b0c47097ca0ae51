/** The second step: prepends the items and turns that the request refers to, and applies the settings that they changed. */

import { toClientOrder } from '../../../engine/compaction/clients-order.ts';
import { withoutLoadedHistory } from '../../../engine/history/own-input.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import type { LoadedHistory, TurnContext } from '../../../ports/turn-context.ts';
import { randomSeed } from '../../../protocol/ids.ts';
import type { Item } from '../../../protocol/items.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import { inputItems } from '../../../protocol/responses/input-items.ts';
import { type CreateBody, configurationSchema } from '../../../protocol/responses/schema.ts';
import type { PrepareSettings } from '../../endpoint/prepare.ts';
import { loadRequestHistory } from './load-history.ts';
import type { CheckedRequest, RequestWithHistory } from './request.ts';

/** Throws `ApiError` as `loadRequestHistory` does. */
export function resolveHistory(checked: CheckedRequest, settings: PrepareSettings): MaybePromise<RequestWithHistory> {
  return mapMaybePromise(loadRequestHistory(checked.apiRequest, settings), (apiRequest) =>
    withConversation(apiRequest, checked),
  );
}

function withConversation(apiRequest: EndpointRequest, { body, guards }: CheckedRequest): RequestWithHistory {
  // The casts: the step has recorded its part in the context, and the body is the validated one.
  const { history, seed = randomSeed() } = apiRequest.context as TurnContext & { readonly history: LoadedHistory };
  const { input: sent } = apiRequest.body as Readonly<Record<string, unknown>>;
  const input = inputItems(withoutLoadedHistory(sent, history), seed);
  const loaded = history.loaded as readonly Item[];
  const conversation = loaded.length === 0 ? input : toClientOrder([...loaded, ...input]);
  // History that a middleware has loaded belongs to the request too.
  const { previous, conversation: conversationId } = history;
  const references = {
    ...(previous ? { previous_response_id: previous.id } : {}),
    ...(conversationId ? { conversation: conversationId } : {}),
  };
  const updated = withConfiguration(previous || conversationId ? { ...body, ...references } : body, conversation);
  const resolved = { apiRequest, body: updated, history, seed, input, conversation };
  return guards ? { ...resolved, guards } : resolved;
}

/**
 * The body with the newest effort and format of the conversation: an update stays in effect until a later one replaces
 * it, whatever the requests of later turns set.
 */
function withConfiguration(body: CreateBody, conversation: readonly Item[]): CreateBody {
  let { reasoning, text } = body;
  // A loop: most of thousands of items are none.
  for (const item of conversation) {
    if (item.type !== 'configuration_update') continue;
    // History that another server wrote has not been validated.
    const update = configurationSchema().safeParse(item).data;
    if (update?.reasoning?.effort) reasoning = { ...reasoning, effort: update.reasoning.effort };
    if (update?.text) text = { ...text, format: update.text.format };
  }
  return reasoning === body.reasoning && text === body.text ? body : { ...body, reasoning, text };
}
