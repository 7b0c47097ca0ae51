/** Writes web searches by the model's own server: they are shown, not run. */

import type { ModelEvent } from '../protocol/events.ts';
import type { WebSearchCallItem } from '../protocol/items.ts';
import { upstreamSearchCall } from '../protocol/tool-calls/web-search-call.ts';
import type { Draft } from './state.ts';
import { announce, closeItem, closeWriting, nextItemId } from './write-text.ts';

type SearchStart = Extract<ModelEvent, { type: 'search-start' }>;
type SearchEnd = Extract<ModelEvent, { type: 'search-end' }>;

/**
 * Reports that the model's server searches the web. An open search with the same id is closed, since it will never end.
 */
export function openSearch(draft: Draft, { search, action }: SearchStart): void {
  failSearch(draft, search);
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
  const found = item.action.type === 'search' && sources.length > 0 ? { ...item.action, sources } : item.action;
  const encrypted = state === undefined ? undefined : draft.plan.seal?.(state);
  const kept = encrypted === undefined ? {} : { encrypted_content: encrypted };
  closeItem(draft, index, { ...item, status: failed ? 'failed' : 'completed', action: found, ...kept });
  draft.bytes += Buffer.byteLength(JSON.stringify(sources)) + Buffer.byteLength(encrypted ?? '');
}

/** Closes searches that have not ended when the model call ends. */
export function failSearches(draft: Draft): void {
  for (const { search } of draft.searches.values()) failSearch(draft, search);
}

function failSearch(draft: Draft, search: string): void {
  closeSearch(draft, { type: 'search-end', search, failed: true, sources: [] });
}

function emitProgress(draft: Draft, index: number, { id: itemId }: WebSearchCallItem, state: string): void {
  const { type: kind } = upstreamSearchCall;
  draft.events.push({ type: 'call-state', sequence: draft.sequence++, index, itemId, kind, state });
}
