/** Writes items of types that the model's own server runs or knows, as that server shows them. */

import type { ModelEvent } from '../../../protocol/events.ts';
import { nativeItemId } from '../../../protocol/ids.ts';
import type { Item, ItemStatus, OutputItem } from '../../../protocol/items.ts';
import { calledToolName, isClientCall, writtenKind } from '../../../protocol/tool-calls/kinds.ts';
import { callRefusal } from './call-permission.ts';
import type { Draft, OpenNativeItem } from './state.ts';
import { refuseCall } from './write-calls.ts';
import { announce, closeItem, closeWriting } from './write-text.ts';

type NativeStart = Extract<ModelEvent, { type: 'native-start' }>;
type NativeProgress = Extract<ModelEvent, { type: 'native-progress' }>;
type NativeEnd = Extract<ModelEvent, { type: 'native-end' }>;

/** Refused calls are kept by number: those of native items come far below the numbers of other calls. */
const FIRST_REFUSED = -1_000_000;

/**
 * Announces the item, under an id of this server. A call that the client would have to run, and that the request does not
 * allow, is neither shown nor made.
 */
export function openNative(draft: Draft, { native, item }: NativeStart): void {
  const earlier = draft.natives.get(native);
  if (earlier) endNative(draft, earlier, 'completed');
  if (isClientCall(item)) {
    const name = calledToolName(item);
    const why = callRefusal(draft.plan, name, draft);
    if (why) {
      const id = typeof item.call_id === 'string' ? { id: item.call_id } : {};
      return refuseCall(
        draft,
        { type: 'tool-call-delta', call: FIRST_REFUSED - native, ...id, name, arguments: '' },
        name,
        why,
      );
    }
    draft.hasCall = true;
  }
  closeWriting(draft, 'completed');
  const index = draft.output.size;
  const prefix = writtenKind(item)?.idPrefix ?? 'item';
  const id = nativeItemId(item.id, prefix, draft.plan.seed, index, draft.round);
  const shown = withId(item, id);
  const bytes = Buffer.byteLength(JSON.stringify(item));
  draft.bytes += bytes;
  draft.natives = draft.natives.with(native, { native, index, item: shown, bytes });
  if (typeof item.call_id === 'string') draft.callIds = draft.callIds.with(item.call_id, true);
  announce(draft, shown);
}

/** Passes on an event of an item that has begun. */
export function writeNativeProgress(draft: Draft, { native, event }: NativeProgress): void {
  const open = draft.natives.get(native);
  if (!open) return;
  const bytes = Buffer.byteLength(JSON.stringify(event));
  draft.bytes += bytes;
  draft.natives = draft.natives.with(native, { ...open, bytes: open.bytes + bytes });
  const { index, item } = open;
  draft.events.push({ type: 'native-progress', sequence: draft.sequence++, index, itemId: item.id, event });
}

/** Ends an item that has begun. What its events have shown of it is not counted again. */
export function closeNative(draft: Draft, { native, item }: NativeEnd): void {
  const open = draft.natives.get(native);
  if (!open) return;
  draft.natives = draft.natives.without(native);
  draft.bytes += Math.max(0, Buffer.byteLength(JSON.stringify(item)) - open.bytes);
  closeItem(draft, open.index, withId(item, open.item.id));
}

/** Ends an item that the model's server has left open. */
export function endNative(draft: Draft, open: OpenNativeItem, status: ItemStatus): void {
  draft.natives = draft.natives.without(open.native);
  const item: Item = open.item;
  const ended = item.status === undefined ? item : { ...item, status };
  closeItem(draft, open.index, withId(ended, open.item.id));
}

function withId(item: Item, id: string): OutputItem {
  // The cast: such an item may be of any type, and no reader relies on more than its type and its id.
  return { ...item, id } as unknown as OutputItem;
}
