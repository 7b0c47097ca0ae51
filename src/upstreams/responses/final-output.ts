/** Compares the items of a stream with the output of its final object. */

import type { GrownText } from '../../protocol/grown-text.ts';
import { contentText } from '../../protocol/item-text.ts';
import type { Note } from '../../protocol/note.ts';
import { type JsonObject, recordsIn } from '../../protocol/record.ts';
import { writtenArguments } from '../../protocol/tool-calls/arguments/call-arguments.ts';

/** The streamed content of one item so far. */
export interface StreamedItem {
  /** Unknown until its start or end event. */
  type: unknown;
  /** Its id in the final object, if the server uses the same ids. */
  key: unknown;
  /** The text or arguments so far. */
  emitted: GrownText;
  /** Whether any of its text, reasoning or arguments has arrived. */
  spoke: boolean;
  /** Whether its end event, and with it its full content, has arrived. */
  closed: boolean;
}

/** Streamed once if the two differ. */
export const OUTPUT_DIFFERS: Note = {
  code: 'output_differs',
  message: "The model server's final response differs from its stream; what the stream lacked is taken from it.",
};

/** The items of the final output, each with its counterpart in the stream, and the streamed items without one. */
interface Pairs<Streamed> {
  readonly pairs: readonly (readonly [item: JsonObject, streamed: Streamed | undefined])[];
  readonly rest: readonly Streamed[];
}

/** Pairs items by id, then those of one type in order, because some servers give each event new ids. */
export function pairItems<Streamed extends StreamedItem>(
  output: readonly JsonObject[],
  streamed: Iterable<Streamed>,
): Pairs<Streamed> {
  const all = [...streamed];
  const byKey = new Map(all.map((each) => [`${each.type} ${each.key}`, each]));
  const known = new Map<JsonObject, Streamed>();
  for (const item of output) {
    const name = `${item.type} ${itemKey(item)}`;
    const found = byKey.get(name);
    if (found) known.set(item, found);
    byKey.delete(name);
  }
  const paired = new Set(known.values());
  // Takes from the end, because taking from the front of a long list moves all of it.
  const queues = new Map<unknown, Streamed[]>();
  for (const each of all.reverse()) {
    if (paired.has(each)) continue;
    const queue = queues.get(each.type);
    if (queue) queue.push(each);
    else queues.set(each.type, [each]);
  }
  const pairs = output.map((item) => [item, known.get(item) ?? queues.get(item.type)?.pop()] as const);
  return { pairs, rest: [...queues.values()].flat() };
}

/** The `call_id` of a call; the `id` of any other item. */
export function itemKey({ id, call_id: callId }: JsonObject): unknown {
  return callId ?? id;
}

/** Whether the item contains anything that can be shown. */
export function hasOutput(item: JsonObject): boolean {
  if (item.type === 'message') return comparedText(item) !== '';
  if (item.type !== 'reasoning') return true;
  const texts = [item.summary, item.content].flatMap((parts) => (Array.isArray(parts) ? parts : []));
  return texts.length > 0 || (typeof item.encrypted_content === 'string' && item.encrypted_content !== '');
}

/** The text of a message or the arguments of a call; undefined for items that are not compared. */
export function comparedText({ type, content, arguments: json, input }: JsonObject): string | undefined {
  if (type === 'function_call') return writtenArguments(json);
  if (type === 'custom_tool_call') return typeof input === 'string' ? input : '';
  return type === 'message' ? contentText(content) : undefined;
}

/** The parts of a message; some servers write one text in their place. */
export function messageParts(content: unknown): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'output_text', text: content }] : recordsIn(content);
}
