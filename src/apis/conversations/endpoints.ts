/** The endpoints of the Conversations API as functions from a request to a reply, for any framework. */

import { guardBody } from '../../engine/guarding/request/guarded-body.ts';
import { collectGuards, type GuardingSettings } from '../../engine/guarding/request/guards-of.ts';
import {
  appendItems,
  conversationNotFound,
  conversationPage,
  conversationResource,
  findConversation,
  findConversationItems,
  requireConversations,
  updateConversation,
} from '../../engine/history/conversation.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { itemPage, pageQuery, toItemList } from '../../engine/request/item-pages.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { Reports } from '../../ports/hooks.ts';
import type { Limits } from '../../ports/limits.ts';
import { fromStore, type ResponseKey, type ResponseStore } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isConversationId, isId, quoteId, randomSeed } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import { inputItems } from '../../protocol/responses/input-items.ts';
import { wholeItem } from '../../protocol/responses/whole-item.ts';
import { queryPresenter } from '../../protocol/tool-calls/kinds.ts';
import { type Endpoint, type EndpointSettings, endpointFor } from '../endpoint/endpoint.ts';
import type { Route } from '../endpoint/routes.ts';
import { type ConversationBody, type ConversationLimits, validateConversation, validateRequired } from './schema.ts';

/** The host's options that the Conversations API needs. */
interface ConversationsSettings extends EndpointSettings, GuardingSettings {
  readonly hooks: Reports;
  readonly store: ResponseStore;
  readonly limits: Limits;
  /** Uploaded files; undefined if items may name none. */
  readonly files?: FileStore | undefined;
}

/** The routes over these settings. */
export function conversationRoutes(settings: ConversationsSettings): readonly Route[] {
  const { store, guards, hooks } = settings;
  const limits = { ...settings.limits, hasUploads: settings.files !== undefined };
  const on = (handler: (request: EndpointRequest, parts: ConversationParts) => Promise<JsonReply>): Endpoint =>
    endpointFor((request) => handler(request, { store, limits, guards, hooks }), settings);
  return [
    { method: 'POST', path: '/conversations', endpoint: on(createConversation) },
    { method: 'GET', path: '/conversations/:id', endpoint: on(retrieveConversation) },
    { method: 'POST', path: '/conversations/:id', endpoint: on(changeConversation) },
    { method: 'DELETE', path: '/conversations/:id', endpoint: on(deleteConversation) },
    { method: 'POST', path: '/conversations/:id/items', endpoint: on(addItems) },
    { method: 'GET', path: '/conversations/:id/items', endpoint: on(listItems) },
    { method: 'GET', path: '/conversations/:id/items/:item', endpoint: on(retrieveItem) },
    { method: 'DELETE', path: '/conversations/:id/items/:item', endpoint: on(removeItem) },
  ];
}

/** Where conversations are stored, how large one may be, and what may stand in it. */
interface ConversationParts extends GuardingSettings {
  readonly store: ResponseStore;
  readonly limits: ConversationLimits;
}

async function createConversation(request: EndpointRequest, parts: ConversationParts): Promise<JsonReply> {
  const { store, limits } = parts;
  const { body, scope } = request;
  const conversations = requireConversations(store);
  const valid = validateConversation(body, limits);
  const items = wholeItems(await guardedItems(valid, request, parts));
  const conversation = { scope, id: `conv_${randomSeed()}`, createdAt: Date.now(), metadata: valid.metadata };
  await fromStore(() => conversations.put(conversation));
  const terms = { maxBytes: limits.historyBytes };
  const answer = await appendItems(store, conversation, items, terms);
  if (answer === 'missing') throw conversationNotFound(conversation.id);
  return jsonReply(conversationResource(conversation));
}

async function retrieveConversation(request: EndpointRequest, { store }: ConversationParts): Promise<JsonReply> {
  return jsonReply(conversationResource(await findConversation(store, conversationKey(request))));
}

async function changeConversation(request: EndpointRequest, { store, limits }: ConversationParts): Promise<JsonReply> {
  const { metadata } = validateRequired(request.body, 'metadata', limits);
  const changed = { ...(await findConversation(store, conversationKey(request))), metadata };
  await updateConversation(store, changed);
  return jsonReply(conversationResource(changed));
}

async function deleteConversation(request: EndpointRequest, { store }: ConversationParts): Promise<JsonReply> {
  const key = conversationKey(request);
  const isDeleted = isConversationId(key.id) && (await fromStore(() => requireConversations(store).delete(key)));
  if (!isDeleted) throw conversationNotFound(key.id);
  return jsonReply({ id: key.id, object: 'conversation.deleted', deleted: true });
}

async function addItems(request: EndpointRequest, parts: ConversationParts): Promise<JsonReply> {
  const { store, limits } = parts;
  const key = conversationKey(request);
  const items = wholeItems(await guardedItems(validateRequired(request.body, 'items', limits), request, parts));
  // The casts to texts here: complete items have an id.
  const ids = items.map(({ id }) => String(id));
  const [existing] = await findConversationItems(store, key, ids, limits.historyBytes);
  if (existing) throw itemExists(String(existing.id));
  const answer = await appendItems(store, key, items, { maxBytes: limits.historyBytes, onKnown: 'refuse' });
  if (answer === 'missing') throw conversationNotFound(key.id);
  if (answer === 'known') {
    // Another request was quicker, or the item has been removed again since.
    const [added] = await findConversationItems(store, key, ids, limits.historyBytes);
    throw itemExists(String(added?.id ?? ids[0]));
  }
  return jsonReply(itemPage(items, { order: 'asc' }, queryPresenter(request.query)));
}

async function listItems(request: EndpointRequest, { store, limits }: ConversationParts): Promise<JsonReply> {
  const key = conversationKey(request);
  return jsonReply(
    toItemList(await conversationPage(store, key, pageQuery(request.query), limits.historyBytes), request.query),
  );
}

async function retrieveItem(request: EndpointRequest, { store, limits }: ConversationParts): Promise<JsonReply> {
  const id = String(request.params.item);
  const [found] = await findConversationItems(store, conversationKey(request), [id], limits.historyBytes);
  if (!found) throw itemNotFound(id);
  return jsonReply(wholeItem(queryPresenter(request.query)(found)));
}

async function removeItem(request: EndpointRequest, { store }: ConversationParts): Promise<JsonReply> {
  const key = conversationKey(request);
  const conversation = await findConversation(store, key);
  const id = String(request.params.item);
  if (!isId(id) || !(await fromStore(() => requireConversations(store).removeItem(key, id)))) throw itemNotFound(id);
  return jsonReply(conversationResource(conversation));
}

function conversationKey({ scope, params }: EndpointRequest): ResponseKey {
  return { scope, id: String(params.id) };
}

function itemNotFound(id: string): ApiError {
  return new ApiError('item_not_found', `No item found with id ${quoteId(id)}.`, { param: 'item_id' });
}

/** History is not looked at when it is loaded, so it is now. */
async function guardedItems(
  body: ConversationBody,
  request: EndpointRequest,
  settings: GuardingSettings,
): Promise<ConversationBody> {
  const guards = collectGuards(request, settings);
  return guards ? guardBody({ ...body }, guards) : body;
}

/** The new items, each complete. Throws if one occurs twice in the request. */
function wholeItems({ items }: ConversationBody): readonly Item[] {
  const whole = inputItems(items, randomSeed());
  const ids = new Set<string>();
  for (const item of whole) {
    const id = String(item.id);
    if (ids.has(id)) throw itemExists(id);
    ids.add(id);
  }
  return whole;
}

function itemExists(id: string): ApiError {
  return new ApiError('item_already_in_conversation', `Item with id ${quoteId(id)} is already in the conversation.`, {
    param: 'items',
  });
}
