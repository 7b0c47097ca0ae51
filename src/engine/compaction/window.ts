/** The part of a conversation that the model receives: from the newest compaction item on, and the host's rules before it. */

import { modelCallOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { answeredId, isClientAnswer, isOpenClientCall, toolCallKind } from '../../protocol/tool-calls/kinds.ts';
import { callingProgram } from '../../protocol/tool-calls/program-call.ts';
import type { Compacted } from './seal.ts';

/** A conversation as the model receives it. */
export interface ContextWindow {
  readonly items: readonly Item[];
  /** The message among them that replaces the compacted items. */
  readonly summary: Item | undefined;
}

/**
 * Leaves out the items that the newest compaction item replaces. `open` reads it, and throws if it cannot. Those for which
 * `isNative` is true are items like any other: the model's own server reads them.
 */
export function contextWindow(
  conversation: readonly Item[],
  open: (item: Item) => Compacted,
  isNative: (item: Item) => boolean = () => false,
): ContextWindow {
  const isOfCompaction = ({ type }: Item) => type === 'compaction' || type === 'compaction_trigger';
  if (!conversation.some(isOfCompaction)) return { items: conversation, summary: undefined };
  const items = conversation.filter(({ type }) => type !== 'compaction_trigger');
  const place = items.findLastIndex((item) => item.type === 'compaction' && !isNative(item));
  const newest = items[place];
  if (!newest) return { items, summary: undefined };
  const { summary: text, retained, kept } = open(newest);
  // The user's: as a system message, the model's old text would have more weight than the user's.
  const past = `This is a summary of our conversation so far, in place of its earlier messages:\n\n${text}`;
  const summary: Item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: past }] };
  const before = items
    .slice(0, place)
    .filter((item, index) => isHostMessage(item) || (index >= place - retained && isUserMessage(item)));
  return { items: [...before, summary, ...kept, ...items.slice(place + 1)], summary };
}

/** A host's or developer's message, which no summary may weaken. */
export function isHostMessage({ type, role }: Item): boolean {
  return type === 'message' && (role === 'system' || role === 'developer');
}

/** Whether it is a user message. */
export function isUserMessage({ type, role }: Item): boolean {
  return type === 'message' && role === 'user';
}

/**
 * The start of what cannot be summarised yet: the first call without an output, request for an approval that may still be
 * answered, or program that goes on, with the program that made it, and the rest of the model's output around it. The length of
 * the list if nothing waits.
 */
export function pendingStart(items: readonly Item[]): number {
  const calls = new Map<unknown, number>();
  const requests = new Map<unknown, number>();
  const programs = new Map<unknown, number>();
  const openPrograms = new Map<unknown, number>();
  for (const [index, item] of items.entries()) {
    if (isOpenClientCall(item)) calls.set(item.call_id, index);
    else if (isClientAnswer(item)) calls.delete(answeredId(item));
    else if (item.type === 'program') {
      programs.set(item.call_id, index);
      if (item.fingerprint) openPrograms.set(item.call_id, index);
    } else if (item.type === 'program_output') openPrograms.delete(item.call_id);
    else if (item.type === 'mcp_approval_request') requests.set(item.id, index);
    else if (item.type === 'mcp_approval_response') requests.delete(item.approval_request_id);
    else if (isUserMessage(item)) {
      // Whoever says something else has not approved; a program that waits for nothing else has not gone on.
      requests.clear();
      openPrograms.clear();
    }
  }
  let start = items.length;
  for (const index of [...calls.values(), ...requests.values(), ...openPrograms.values()]) {
    const caller = callingProgram(items[index] ?? {});
    start = Math.min(start, index, programs.get(caller) ?? index);
  }
  for (let before = items[start - 1]; before && isSameModelOutput(before, items[start]); before = items[start - 1])
    start -= 1;
  return start;
}

/** Whether both belong to one output of the model. */
export function isSameModelOutput(before: Item | undefined, item: Item | undefined): boolean {
  if (!before || !item) return false;
  const { type, role } = before;
  const isModels = type === 'message' ? role === 'assistant' : type === 'reasoning' || toolCallKind(before);
  return !!isModels && modelCallOfItem(String(before.id)) === modelCallOfItem(String(item.id));
}
