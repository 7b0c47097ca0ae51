/** Writes the item that replaces the conversation so far. */

import type { CompactionItem } from '../protocol/items.ts';
import type { Draft } from './state.ts';
import { announce, closeItem, closeWriting, nextItemId } from './write-text.ts';

/** Announces the item, still empty, and that its summary begins; a process that goes on with it does not announce it again. */
export function beginCompaction(draft: Draft): void {
  const { id } = openCompaction(draft) ?? announced(draft, '');
  const state = { kind: 'compaction', state: 'compacting' } as const;
  draft.events.push({ type: 'call-state', sequence: draft.sequence++, index: lastIndex(draft), itemId: id, ...state });
}

/** Emits the whole item. */
export function writeCompaction(draft: Draft, encrypted: string): void {
  const item = openCompaction(draft) ?? announced(draft, encrypted);
  closeItem(draft, lastIndex(draft), { ...item, encrypted_content: encrypted });
}

/** Ends the item as it is, where the turn fails before its summary is whole. */
export function failCompaction(draft: Draft): void {
  const item = openCompaction(draft);
  if (item) closeItem(draft, lastIndex(draft), item);
}

function announced(draft: Draft, encrypted: string): CompactionItem {
  closeWriting(draft, 'completed');
  const item = { id: nextItemId(draft, 'cmp'), type: 'compaction', encrypted_content: encrypted } as const;
  announce(draft, item);
  return item;
}

/** The item whose summary has begun: nothing follows it, and only such an item is empty. */
function openCompaction(draft: Draft): CompactionItem | undefined {
  const last = draft.output.at(lastIndex(draft));
  return last?.type === 'compaction' && last.encrypted_content === '' ? last : undefined;
}

function lastIndex({ output }: Draft): number {
  return output.size - 1;
}
