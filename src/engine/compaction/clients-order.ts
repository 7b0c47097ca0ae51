/** Puts a message that a client sends in front of the outputs of earlier calls where the client means it: in front of the calls. */

import { responseIdOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { answeredId, isCallOutput, isClientAnsweredCall } from '../../protocol/tool-calls/kinds.ts';
import { isSameModelOutput } from './window.ts';

/**
 * The conversation with messages that begin a request, and are followed by outputs of the calls before it, in front of
 * those calls: models read outputs directly behind their calls, and a message behind them as a new question, for which
 * they would call again. Semantic Kernel sends requests like this. The same list if there are none.
 */
export function toClientOrder(conversation: readonly Item[]): readonly Item[] {
  const calls = new Map<unknown, number>();
  const moved = new Map<number, Item[]>();
  const gone = new Set<Item>();
  let words: Item[] = [];
  for (const [index, item] of conversation.entries()) {
    if (item.type === 'message' && item.role !== 'assistant') {
      words.push(item);
      continue;
    }
    const [first] = words;
    const place = isCallOutput(item) ? calls.get(answeredId(item)) : undefined;
    const call = place === undefined ? undefined : conversation[place];
    if (first && call && place !== undefined && isOfOneRequest(first, item) && !isOfOneRequest(call, item)) {
      // The first item of the model's output that the call belongs to.
      let start = place;
      while (start > 0 && isSameModelOutput(conversation[start - 1], conversation[start])) start -= 1;
      moved.set(start, [...(moved.get(start) ?? []), ...words]);
      for (const word of words) gone.add(word);
    }
    words = [];
    if (isCallOutput(item)) calls.delete(answeredId(item));
    else if (isClientAnsweredCall(item)) calls.set(item.call_id, index);
  }
  if (gone.size === 0) return conversation;
  return conversation.flatMap((item, index) => [...(moved.get(index) ?? []), ...(gone.has(item) ? [] : [item])]);
}

/** Whether one request or response has brought both. */
function isOfOneRequest(one: Item, other: Item): boolean {
  const id = responseIdOfItem(String(one.id));
  return id !== undefined && id === responseIdOfItem(String(other.id));
}
