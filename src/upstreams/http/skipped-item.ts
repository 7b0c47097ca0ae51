/** Reports to the host an item that is not sent to the model. */
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { plainText } from '../../protocol/record.ts';
import { isUnreadable } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import { isCallOutput } from '../../protocol/tool-calls/kinds.ts';

/** Number of characters shown of an id that a client chose. */
const MAX_ID_LENGTH = 64;

/**
 * `place` names what does not support it, such as `a chat request`. An output that gets here is its call's second, and a call is
 * sent, though not with its arguments as they are.
 */
export function skippedItem(item: Item, place: string): Note {
  if (isUnreadable(item.arguments)) {
    const message = `The arguments of the call of '${plainText(item.name).slice(0, MAX_ID_LENGTH)}' are no JSON object; ${place} holds them as a text in one.`;
    return { code: 'arguments_wrapped', message };
  }
  const message = isCallOutput(item)
    ? `A second output for the call '${String(item.call_id).slice(0, MAX_ID_LENGTH)}' is left out.`
    : `Input items of type '${item.type}' have no place in ${place}.`;
  return { code: 'item_skipped', message };
}
