/** Leaves out the oldest turns of a conversation that is longer than the model's context. */

import type { Item } from '../../protocol/items.ts';
import { leastBytes } from '../../protocol/json/json-size.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord } from '../../protocol/record.ts';
import { answeredId, isClientAnswer, isClientAnsweredCall, isOpenClientCall } from '../../protocol/tool-calls/kinds.ts';
import { isHostMessage, isSameModelOutput, isUserMessage } from './window.ts';

/** A shorter conversation. */
export interface Truncated {
  readonly items: readonly Item[];
  /** How many turns were left out, and how many rounds of tools of the newest turn. */
  readonly turns: number;
  readonly rounds: number;
}

/** An image or another medium counts as this many characters of text, whatever its size. */
const MEDIUM_WEIGHT = 3000;

const MEDIA: ReadonlySet<unknown> = new Set([
  'input_image',
  'input_file',
  'input_audio',
  'input_video',
  'computer_screenshot',
]);

/** The approximate characters that the model reads of a request. */
export function requestWeight({
  instructions = '',
  tools,
  items,
}: Pick<ModelRequest, 'instructions' | 'tools' | 'items'>) {
  return instructions.length + leastBytes(tools) + items.reduce((sum, item) => sum + itemWeight(item), 0);
}

function itemWeight(item: Item): number {
  const { content, output } = item;
  // A screenshot is no list.
  const parts = Array.isArray(content) ? content : isRecord(output) ? [output] : output;
  if (!Array.isArray(parts)) return leastBytes(item);
  const texts = parts.filter((part) => !isRecord(part) || !MEDIA.has(part.type));
  if (texts.length === parts.length) return leastBytes(item);
  return leastBytes(texts) + (parts.length - texts.length) * MEDIUM_WEIGHT;
}

/**
 * Leaves out whole turns from the oldest on, and then rounds of tools of the newest turn, until the request weighs at
 * most `maxWeight` or nothing more may go. What the host and the developer say, the newest message of the user, the
 * items that `isPinned` names and the last round stay, and no call is left without its output. Undefined if nothing can
 * be left out.
 */
export function truncateRequest(
  request: ModelRequest,
  maxWeight: number,
  isPinned: (item: Item) => boolean = () => false,
): Truncated | undefined {
  const { items } = request;
  const [newest, end] = newestUserMessages(items);
  const stays = (item: Item, index: number) =>
    isHostMessage(item) || isPinned(item) || (index >= newest && index < end);
  let weight = requestWeight(request);
  let from = 0;
  let turns = 0;
  let rounds = 0;
  for (const cut of possibleStarts(items, newest)) {
    if (weight <= maxWeight) break;
    const gone = items.slice(from, cut).filter((item, at) => !stays(item, from + at));
    weight -= gone.reduce((sum, item) => sum + itemWeight(item), 0);
    from = cut;
    if (gone.length === 0) continue;
    if (cut <= newest) turns += 1;
    else rounds += 1;
  }
  if (turns + rounds === 0) return undefined;
  return { items: items.filter((item, index) => index >= from || stays(item, index)), turns, rounds };
}

/** The place of the user's newest messages in a row, and its end; the end of the list twice if there are none. */
function newestUserMessages(items: readonly Item[]): readonly [number, number] {
  const last = items.findLastIndex(isUserMessage);
  if (last < 0) return [items.length, items.length];
  return [items.findLastIndex((item, index) => index < last && !isUserMessage(item)) + 1, last + 1];
}

/**
 * Where the conversation may begin anew: at each message of the user that follows something else, and in front of each
 * answer of the model to results of tools; never between a call and its output.
 */
function* possibleStarts(items: readonly Item[], newest: number): Generator<number, void> {
  const open = new Map<unknown, number>();
  // A call of this server has none where the model was stopped in the middle of its next call.
  const answered = new Set(items.filter(isClientAnswer).map(answeredId));
  let waiting = 0;
  let searches = 0;
  for (const [index, item] of items.entries()) {
    const before = items[index - 1];
    const isWhole = waiting === 0 && searches <= 0;
    if (before && isWhole && !isUserMessage(before)) {
      const beginsTurn = isUserMessage(item) && !isHostMessage(before);
      const beginsRound =
        !isUserMessage(item) && !isClientAnswer(item) && !isHostMessage(item) && !isSameModelOutput(before, item);
      if (beginsTurn || (beginsRound && index > newest)) yield index;
    }
    if (item.type === 'tool_search_call' && item.output === undefined) searches += 1;
    else if (item.type === 'tool_search_output') searches -= 1;
    else if ((isClientAnsweredCall(item) && answered.has(item.call_id)) || isOpenClientCall(item)) {
      open.set(item.call_id, (open.get(item.call_id) ?? 0) + 1);
      waiting += 1;
    } else if (isClientAnswer(item)) {
      const id = answeredId(item);
      const count = open.get(id) ?? 0;
      if (count > 0) waiting -= 1;
      open.set(id, Math.max(count - 1, 0));
    }
  }
}
