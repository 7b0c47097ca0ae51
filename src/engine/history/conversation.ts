/** Conversations of the Conversations API, and how a turn finds and extends one. */

import {
  type AppendTerms,
  type ConversationStore,
  fromStore,
  type ItemPage,
  type ItemPageQuery,
  type ResponseKey,
  type ResponseStore,
  type StoredConversation,
  type StoredResponse,
  storedVersion,
} from '../../ports/store.ts';
import { isStoreError } from '../../ports/store-error.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isConversationId, quoteId } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';
import { selectPage } from '../request/item-pages.ts';
import { loadItems } from './load-chain.ts';

/** The part of the store that holds conversations. Throws `unsupported_parameter` if the store has none. */
export function requireConversations({ conversations, name }: ResponseStore): ConversationStore {
  if (conversations) return conversations;
  const message = `Conversations are not supported here: the store '${name}' keeps none. Use previous_response_id.`;
  throw new ApiError('unsupported_parameter', message, { param: 'conversation' });
}

/** The conversation. Throws `conversation_not_found`. */
export async function findConversation(store: ResponseStore, key: ResponseKey): Promise<StoredConversation> {
  const conversations = requireConversations(store);
  const found = isConversationId(key.id) ? await fromStore(() => conversations.get(key)) : undefined;
  if (!found) throw conversationNotFound(key.id);
  return found;
}

/** All items of a conversation, oldest first. Throws `conversation_not_found`, and `conversation_too_long` past `maxBytes`. */
export async function conversationItems(
  store: ResponseStore,
  key: ResponseKey,
  maxBytes: number,
): Promise<readonly Item[]> {
  await findConversation(store, key);
  const conversations = requireConversations(store);
  return fromStore(() =>
    loadItems(conversations, key, maxBytes).catch((error: unknown) => {
      throw isStoreError(error, 'too_many_bytes') ? conversationTooLong(maxBytes) : error;
    }),
  );
}

/**
 * A page of the items. Throws `conversation_not_found`, `item_not_found` and, if the store has no pages, the errors of
 * `conversationItems`.
 */
export async function conversationPage(
  store: ResponseStore,
  key: ResponseKey,
  query: ItemPageQuery,
  maxBytes: number,
): Promise<ItemPage> {
  const conversations = requireConversations(store);
  if (!conversations.page) return selectPage(await conversationItems(store, key, maxBytes), query);
  await findConversation(store, key);
  return fromStore(() => conversations.page?.(key, query) ?? NO_ITEMS);
}

const NO_ITEMS: ItemPage = { items: [], hasMore: false };

/** Those of the items that are in the conversation. Throws `conversation_not_found`. */
export async function findConversationItems(
  store: ResponseStore,
  key: ResponseKey,
  itemIds: readonly string[],
  maxBytes: number,
): Promise<readonly Item[]> {
  const conversations = requireConversations(store);
  if (!conversations.find) {
    const wanted: ReadonlySet<unknown> = new Set(itemIds);
    return (await conversationItems(store, key, maxBytes)).filter(({ id }) => wanted.has(id));
  }
  await findConversation(store, key);
  return fromStore(() => conversations.find?.(key, itemIds) ?? []);
}

/**
 * Adds the items atomically, except for those that are there already. Returns what else stands against it: `missing` if
 * the conversation was deleted in the meantime. Throws `conversation_too_long` if it would exceed `maxBytes`.
 */
export async function appendItems(
  store: ResponseStore,
  key: ResponseKey,
  items: readonly Item[],
  terms: AppendTerms & { readonly maxBytes: number },
): Promise<'added' | 'known' | 'overruled' | 'missing'> {
  if (items.length === 0) return 'added';
  const conversations = requireConversations(store);
  const answer = await fromStore(() => conversations.append(key, items, terms));
  if (answer === 'full') throw conversationTooLong(terms.maxBytes);
  if (answer === true) return 'added';
  return answer === false ? 'missing' : answer;
}

/**
 * Takes back what a turn has added to its conversation, and refuses what processes add that ran it before this version
 * of its response.
 */
export async function withdrawTurn(store: ResponseStore, stored: Withdrawn): Promise<void> {
  const { scope, id, resource } = stored;
  const { conversation } = resource;
  if (!isRecord(conversation) || typeof conversation.id !== 'string') return;
  const key = { scope, id: conversation.id };
  const turn = { id, epoch: storedVersion(stored) };
  await fromStore(() => store.conversations?.append(key, [], { turn }));
}

/** Takes back the items that a turn has added which no other process may run: nothing is remembered of it. */
export async function removeItems(store: ResponseStore, key: ResponseKey, items: readonly Item[]): Promise<void> {
  for (const { id } of items)
    if (typeof id === 'string') await fromStore(() => store.conversations?.removeItem(key, id));
}

type Withdrawn = Pick<StoredResponse, 'scope' | 'id' | 'resource' | 'version'>;

/** Replaces the metadata of an existing conversation. Throws `conversation_not_found`. */
export async function updateConversation(store: ResponseStore, conversation: StoredConversation): Promise<void> {
  const conversations = requireConversations(store);
  if (!conversations.update) return fromStore(() => conversations.put(conversation));
  const updated = await fromStore(() => conversations.update?.(conversation));
  if (!updated) throw conversationNotFound(conversation.id);
}

function conversationTooLong(maxBytes: number): ApiError {
  const message = `The conversation is longer than the ${maxBytes} bytes that this server keeps of one.`;
  return new ApiError('conversation_too_long', message, { param: 'conversation' });
}

/** OpenAI's message for it. */
export function conversationNotFound(id: string): ApiError {
  return new ApiError('conversation_not_found', `Conversation with id ${quoteId(id)} not found.`, {
    param: 'conversation',
  });
}

/** The conversation's resource without its items. */
export function conversationResource({ id, createdAt, metadata }: StoredConversation): JsonObject {
  return { id, object: 'conversation', created_at: unixSeconds(createdAt), metadata };
}
