/** Lists of a tenant's records, which the store keeps as conversations of their own. */
import { type ConversationStore, fromStore, type ResponseKey } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';

/** How often room is made for one entry. */
const MAX_TRIES = 50;

/** What is done where the list is not there, or full. */
interface ListTerms {
  /** The most bytes of the list. */
  readonly maxBytes: number;
  /** Of the conversation, once it is made. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Takes some of the oldest entries away. */
  readonly makeRoom: () => Promise<void>;
}

/** Adds the entry at the end of the list, which it makes if need be. Throws `store_error`. */
export async function addToList(
  conversations: ConversationStore,
  key: ResponseKey,
  entry: Item,
  { maxBytes, metadata, makeRoom }: ListTerms,
): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const answer = await fromStore(() => conversations.append(key, [entry], { maxBytes }));
    if (answer === false) await fromStore(() => conversations.put({ ...key, createdAt: Date.now(), metadata }));
    else if (answer === 'full') await makeRoom();
    else return;
  }
}
