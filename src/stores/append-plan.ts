/** Decides what an append adds to a conversation, for the stores whose atomic step runs in this process; one over a network reads the known ids first, since `has` does not wait. */

import type { AppendTerms } from '../ports/store.ts';
import type { Item } from '../protocol/items.ts';

/** What a turn has added to a conversation, as the store remembers it. */
export interface TurnPart {
  readonly epoch: number;
  /** The ids of the items that it added. */
  readonly ids: readonly string[];
}

/** The conversation before the append. */
interface Held {
  /** Whether it holds an item with this id. */
  has(itemId: string): boolean;
  /** What the turn of the append has added before. */
  readonly part: TurnPart | undefined;
}

/** A change that the store carries out as a whole. */
interface AppendPlan {
  /** The ids that leave the conversation first. */
  readonly replaced: readonly string[];
  /** The items that come. */
  readonly added: readonly Item[];
  /** What the store remembers of the turn; undefined if the append belongs to none. */
  readonly part: TurnPart | undefined;
}

/** The change, or the answer if there is none; the store itself checks the bytes. */
export function appendPlan(
  items: readonly Item[],
  { onKnown, turn }: AppendTerms,
  { has, part }: Held,
): AppendPlan | true | 'known' | 'overruled' {
  if (turn && part && turn.epoch < part.epoch) return 'overruled';
  if (turn?.epoch === part?.epoch && part && part.ids.length > 0 && items.length > 0) return true;
  const replaced = part?.ids ?? [];
  const gone = new Set<unknown>(replaced);
  const ids = new Set<string>();
  const added = items.filter(({ id }) => {
    if (typeof id !== 'string') return true;
    const isNew = !ids.has(id) && (gone.has(id) || !has(id));
    if (isNew) ids.add(id);
    return isNew;
  });
  if (onKnown === 'refuse' && added.length < items.length) return 'known';
  return { replaced, added, part: turn && { epoch: turn.epoch, ids: [...ids] } };
}
