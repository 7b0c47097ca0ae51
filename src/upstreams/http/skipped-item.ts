/** Reports to the host an item that is not sent to the model. */
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isCallOutput } from '../../protocol/tool-calls/kinds.ts';

/** Number of characters shown of an id that a client chose. */
const SHOWN_ID = 64;

/** `place` names what does not support it, such as `a chat request`. An output that gets here is its call's second. */
export function skippedItem(item: Item, place: string): Note {
  const message = isCallOutput(item)
    ? `A second output for the call '${String(item.call_id).slice(0, SHOWN_ID)}' is left out.`
    : `Input items of type '${item.type}' have no place in ${place}.`;
  return { code: 'item_skipped', message };
}
