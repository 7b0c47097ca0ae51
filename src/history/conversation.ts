/** Conversations as the client knows them, and how a turn finds and extends one. */

import {
  type ConversationStore,
  fromStore,
  type ResponseKey,
  type ResponseStore,
  type StoredConversation,
} from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import type { Item } from '../protocol/items.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The part of the store that keeps conversations. Throws `unsupported_parameter` where it keeps none. */
export function conversationsOf({ conversations, name }: ResponseStore): ConversationStore {
  if (conversations) return conversations;
  const message = `Conversations are not supported here: the store '${name}' keeps none. Use previous_response_id.`;
  throw new ApiError('unsupported_parameter', message, { param: 'conversation' });
}

/** The conversation. Throws `conversation_not_found`. */
export async function findConversation(store: ResponseStore, key: ResponseKey): Promise<StoredConversation> {
  const conversations = conversationsOf(store);
  const found = await fromStore(() => conversations.get(key));
  if (!found) throw conversationNotFound(key.id);
  return found;
}

/** All items of a conversation, oldest first. Throws `conversation_not_found`. */
export async function conversationItems(store: ResponseStore, key: ResponseKey): Promise<readonly Item[]> {
  await findConversation(store, key);
  const conversations = conversationsOf(store);
  return fromStore(() => conversations.items(key));
}

/** Adds the items all together. Throws `conversation_not_found`, where it was deleted in the meantime. */
export async function appendItems(store: ResponseStore, key: ResponseKey, items: readonly Item[]): Promise<void> {
  const conversations = conversationsOf(store);
  if (items.length > 0 && !(await fromStore(() => conversations.append(key, items))))
    throw conversationNotFound(key.id);
}

/** OpenAI's words for it. */
export function conversationNotFound(id: string): ApiError {
  return new ApiError('conversation_not_found', `Conversation with id '${id}' not found.`, { param: 'conversation' });
}

/** The conversation's own resource. */
export function conversationResource({ id, createdAt, metadata }: StoredConversation): Fields {
  return { id, object: 'conversation', created_at: Math.floor(createdAt / 1000), metadata };
}
