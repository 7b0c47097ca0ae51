/** The endpoints of the Conversations API as functions from a call to a reply, for any framework. */

import {
  appendItems,
  conversationItems,
  conversationNotFound,
  conversationResource,
  conversationsOf,
  findConversation,
} from '../../history/conversation.ts';
import type { Call } from '../../ports/api-request.ts';
import { answered, type Endpoint, type EndpointSettings } from '../../ports/endpoint.ts';
import type { Route } from '../../ports/routes.ts';
import { fromStore, type ResponseKey, type ResponseStore } from '../../ports/store.ts';
import { queryShower } from '../../protocol/code-outputs.ts';
import { ApiError } from '../../protocol/errors.ts';
import { randomSeed } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { page } from '../../protocol/list.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import { inputItems } from '../../protocol/responses/input-items.ts';
import { type ConversationBody, needed, validateConversation } from './schema.ts';

/** The routes over these settings. */
export function conversationRoutes(settings: EndpointSettings & { readonly store: ResponseStore }): readonly Route[] {
  const on = (handler: (call: Call, store: ResponseStore) => Promise<JsonReply>): Endpoint =>
    answered((call) => handler(call, settings.store), settings);
  return [
    { method: 'POST', path: '/conversations', endpoint: on(create) },
    { method: 'GET', path: '/conversations/:id', endpoint: on(retrieve) },
    { method: 'POST', path: '/conversations/:id', endpoint: on(update) },
    { method: 'DELETE', path: '/conversations/:id', endpoint: on(remove) },
    { method: 'POST', path: '/conversations/:id/items', endpoint: on(addItems) },
    { method: 'GET', path: '/conversations/:id/items', endpoint: on(listItems) },
    { method: 'GET', path: '/conversations/:id/items/:item', endpoint: on(retrieveItem) },
    { method: 'DELETE', path: '/conversations/:id/items/:item', endpoint: on(removeItem) },
  ];
}

async function create({ body, scope }: Call, store: ResponseStore): Promise<JsonReply> {
  const conversations = conversationsOf(store);
  const checked = validateConversation(body);
  const items = wholeItems(checked, []);
  const conversation = { scope, id: `conv_${randomSeed()}`, createdAt: Date.now(), metadata: checked.metadata };
  await fromStore(() => conversations.put(conversation));
  await appendItems(store, conversation, items);
  return jsonReply(conversationResource(conversation));
}

async function retrieve(call: Call, store: ResponseStore): Promise<JsonReply> {
  return jsonReply(conversationResource(await findConversation(store, keyOf(call))));
}

async function update(call: Call, store: ResponseStore): Promise<JsonReply> {
  const { metadata } = needed(call.body, 'metadata');
  const changed = { ...(await findConversation(store, keyOf(call))), metadata };
  await fromStore(() => conversationsOf(store).put(changed));
  return jsonReply(conversationResource(changed));
}

async function remove(call: Call, store: ResponseStore): Promise<JsonReply> {
  const key = keyOf(call);
  if (!(await fromStore(() => conversationsOf(store).delete(key)))) throw conversationNotFound(key.id);
  return jsonReply({ id: key.id, object: 'conversation.deleted', deleted: true });
}

async function addItems(call: Call, store: ResponseStore): Promise<JsonReply> {
  const key = keyOf(call);
  const items = wholeItems(needed(call.body, 'items'), await conversationItems(store, key));
  await appendItems(store, key, items);
  return jsonReply(page(items, { order: 'asc' }, queryShower(call.query)));
}

async function listItems(call: Call, store: ResponseStore): Promise<JsonReply> {
  return jsonReply(page(await conversationItems(store, keyOf(call)), call.query));
}

async function retrieveItem(call: Call, store: ResponseStore): Promise<JsonReply> {
  const id = itemIdOf(call);
  const found = (await conversationItems(store, keyOf(call))).find((item) => item.id === id);
  if (!found) throw itemNotFound(id);
  return jsonReply(queryShower(call.query)(found));
}

async function removeItem(call: Call, store: ResponseStore): Promise<JsonReply> {
  const key = keyOf(call);
  const conversation = await findConversation(store, key);
  const id = itemIdOf(call);
  if (!(await fromStore(() => conversationsOf(store).removeItem(key, id)))) throw itemNotFound(id);
  return jsonReply(conversationResource(conversation));
}

function keyOf({ scope, params }: Call): ResponseKey {
  return { scope, id: String(params.id) };
}

function itemIdOf({ params }: Call): string {
  return String(params.item);
}

function itemNotFound(id: string): ApiError {
  return new ApiError('item_not_found', `No item found with id '${id}'.`, { param: 'item_id' });
}

/** The new items, each whole. Throws where one stands in the conversation already, or twice in the request. */
function wholeItems({ items }: ConversationBody, known: readonly Item[]): readonly Item[] {
  const whole = inputItems(items, randomSeed());
  const taken = new Set(known.map(({ id }) => id));
  for (const { id } of whole) {
    if (taken.has(id)) throw alreadyThere(String(id));
    taken.add(id);
  }
  return whole;
}

function alreadyThere(id: string): ApiError {
  return new ApiError('item_already_in_conversation', `Item with id '${id}' is already in the conversation.`, {
    param: 'items',
  });
}
