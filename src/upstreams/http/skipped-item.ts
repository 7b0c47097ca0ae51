/** What the host is told of an item that the model is not. */
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isCallOutput } from '../../protocol/tool-calls/pair-calls.ts';

/** Of an id that a client chose, so much is shown. */
const SHOWN_ID = 64;

/** `place` is where it has none, such as `a chat request`. An output that reaches this is the second one of its call. */
export function skippedItem(item: Item, place: string): Note {
  const message = isCallOutput(item)
    ? `A second output for the call '${String(item.call_id).slice(0, SHOWN_ID)}' is left out.`
    : `Input items of type '${item.type}' have no place in ${place}.`;
  return { code: 'item_skipped', message };
}
