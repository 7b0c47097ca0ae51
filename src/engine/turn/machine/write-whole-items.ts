/** Writes items that no delta makes: images and web searches of the model's own server, and the item that replaces a conversation. */
import type { ModelEvent } from '../../../protocol/events.ts';
import type { CompactionItem, ImageGenerationCallItem, WebSearchCallItem } from '../../../protocol/items.ts';
import { imageGenerationCall } from '../../../protocol/tool-calls/image-generation-call.ts';
import { upstreamSearchCall } from '../../../protocol/tool-calls/web-search-call.ts';
import type { Draft } from './state.ts';
import { announce, closeItem, closeWriting, nextItemId } from './write-text.ts';

/** Announces the item, still empty, and that its summary begins; a process that goes on with it does not announce it again. */
export function beginCompaction(draft: Draft): void {
  const { id } = openCompaction(draft) ?? announceCompaction(draft, '');
  const state = { kind: 'compaction', state: 'compacting' } as const;
  draft.events.push({
    type: 'call-state',
    sequence: draft.sequence++,
    index: draft.output.size - 1,
    itemId: id,
    ...state,
  });
}

/** Emits the whole item. */
export function writeCompaction(draft: Draft, encrypted: string): void {
  const item = openCompaction(draft) ?? announceCompaction(draft, encrypted);
  closeItem(draft, draft.output.size - 1, { ...item, encrypted_content: encrypted });
}

/** Ends the item as it is, where the turn fails before its summary is whole. */
export function failCompaction(draft: Draft): void {
  const item = openCompaction(draft);
  if (item) closeItem(draft, draft.output.size - 1, item);
}

function announceCompaction(draft: Draft, encrypted: string): CompactionItem {
  closeWriting(draft, 'completed');
  const item = { id: nextItemId(draft, 'cmp'), type: 'compaction', encrypted_content: encrypted } as const;
  announce(draft, item);
  return item;
}

/** The item whose summary has begun: nothing follows it, and only such an item is empty. */
function openCompaction(draft: Draft): CompactionItem | undefined {
  const last = draft.output.at(draft.output.size - 1);
  return last?.type === 'compaction' && last.encrypted_content === '' ? last : undefined;
}

/** The states that its events report. */
const STATES = ['in_progress', 'generating', 'completed'] as const;

/** Emits all events of the image; the item that was being written ends before it. */
export function writeImage(draft: Draft, { result, details }: Extract<ModelEvent, { type: 'image' }>): void {
  closeWriting(draft, 'completed');
  const { type, idPrefix } = imageGenerationCall;
  const index = draft.output.size;
  const id = nextItemId(draft, idPrefix);
  const item: ImageGenerationCallItem = { id, type, status: 'in_progress', result: null, ...details };
  announce(draft, item);
  for (const state of STATES)
    draft.events.push({ type: 'call-state', sequence: draft.sequence++, index, itemId: id, kind: type, state });
  closeItem(draft, index, { ...item, status: 'completed', result });
  draft.bytes += Buffer.byteLength(result) + Buffer.byteLength(JSON.stringify(details));
}

type SearchStart = Extract<ModelEvent, { type: 'search-start' }>;
type SearchEnd = Extract<ModelEvent, { type: 'search-end' }>;

/**
 * Reports that the model's server searches the web. An open search with the same id is closed, since it will never end.
 */
export function openSearch(draft: Draft, { search, action }: SearchStart): void {
  closeSearch(draft, { type: 'search-end', search, failed: true, sources: [] });
  closeWriting(draft, 'completed');
  const index = draft.output.size;
  const item: WebSearchCallItem = {
    id: nextItemId(draft, upstreamSearchCall.idPrefix),
    type: upstreamSearchCall.type,
    status: 'in_progress',
    action,
  };
  draft.searches = draft.searches.with(search, { search, index, item });
  announce(draft, item);
  emitProgress(draft, index, item, 'in_progress');
  emitProgress(draft, index, item, 'searching');
  draft.bytes += Buffer.byteLength(JSON.stringify(action));
}

/** Reports the results; an end without a start is ignored. */
export function closeSearch(draft: Draft, { search, failed, sources, state }: SearchEnd): void {
  const open = draft.searches.get(search);
  if (!open) return;
  draft.searches = draft.searches.without(search);
  const { index, item } = open;
  if (!failed) emitProgress(draft, index, item, 'completed');
  const whole = item.action.type === 'search' && sources.length > 0 ? { ...item.action, sources } : item.action;
  const encrypted = state === undefined ? undefined : draft.plan.seal?.(state);
  const sealed = encrypted === undefined ? {} : { encrypted_content: encrypted };
  closeItem(draft, index, { ...item, status: failed ? 'failed' : 'completed', action: whole, ...sealed });
  draft.bytes += Buffer.byteLength(JSON.stringify(sources)) + Buffer.byteLength(encrypted ?? '');
}

/** Closes searches that have not ended when the model call ends. */
export function failSearches(draft: Draft): void {
  for (const { search } of draft.searches.values())
    closeSearch(draft, { type: 'search-end', search, failed: true, sources: [] });
}

function emitProgress(draft: Draft, index: number, { id: itemId }: WebSearchCallItem, state: string): void {
  const { type: kind } = upstreamSearchCall;
  draft.events.push({ type: 'call-state', sequence: draft.sequence++, index, itemId, kind, state });
}
