/** The parts of the cases about conversations. */
import assert from 'node:assert/strict';
import type { ConversationStore, ResponseKey, ResponseStore, StoredConversation } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { assertMissing, plainValue, type StoreCase, type StoreSubject } from './store-case.ts';

/** The subject of a case about conversations. */
export interface ConversationSubject extends StoreSubject {
  readonly conversations: ConversationStore;
}

/** A case of the contract that works on the store’s conversations. */
export function conversationCase(
  name: string,
  { run, ...rest }: Omit<StoreCase, 'name' | 'run'> & { run(subject: ConversationSubject): Promise<void> },
): StoreCase {
  return { ...rest, name, run: (subject) => run({ ...subject, conversations: requireConversations(subject.store) }) };
}

/** Asserts the conversation's fields and its items, in order. */
export async function assertHolds(
  conversations: ConversationStore,
  expected: StoredConversation,
  expectedItems: readonly Item[],
): Promise<void> {
  assert.deepEqual(
    plainValue([await conversations.get(expected), await conversations.items(expected)]),
    plainValue([expected, expectedItems]),
  );
}

/** Asserts that no method finds or creates anything under the key. */
export async function assertNothing(conversations: ConversationStore, { scope, id }: ResponseKey): Promise<void> {
  const key = { scope, id };
  const answers = [
    await conversations.append(key, itemsWithIds('stray', 1)),
    await conversations.removeItem(key, 'stray-0'),
    await conversations.delete(key),
    await conversations.items(key),
  ];
  assert.deepEqual(plainValue(answers), [false, false, false, []], JSON.stringify(key));
  await assertMissing(conversations, key);
}

/** A conversation created now, whose metadata contains its id. */
export function conversation(scope: string, id: string): StoredConversation {
  return { scope, id, createdAt: Date.now(), metadata: { title: id } };
}

/** Messages whose ids contain the name and the position. */
export function itemsWithIds(name: string, count: number): readonly Item[] {
  return Array.from({ length: count }, (_, index) => itemWithId(`${name}-${index}`));
}

/** A message that contains its own id. */
export function itemWithId(id: string): Item {
  return { ...messageItem(id), id };
}

/** A message without an id. */
export function messageItem(text: string): Item {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}

function requireConversations({ name, conversations }: ResponseStore): ConversationStore {
  assert.ok(conversations, `${name} has no conversations; give storeContract conversations: false`);
  return conversations;
}
