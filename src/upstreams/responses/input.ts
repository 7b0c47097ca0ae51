/** Writes a conversation of items as the input of a Responses request to another server. */

import { type AnsweredCall, answeredCall, SILENT_TYPES } from '../../protocol/chat-completions/messages.ts';
import { modelCallOfItem } from '../../protocol/ids.ts';
import { imageMessage } from '../../protocol/images.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';
import { pairCalls } from '../../protocol/tool-calls/pair-calls.ts';

/** An item as the other server needs it back: whole, but for what only says how far it had come. */
export function stateOf({ status: _, ...item }: JsonObject): JsonObject {
  return item;
}

/** The calls of one answer of the model, whose outputs follow behind all of them. */
interface Calls {
  modelCall: string | undefined;
  readonly open: AnsweredCall[];
}

/**
 * The items without ids, which are this server's own: calls as function calls, whoever ran them. `skipped` is told of
 * items that have no place. Throws `ApiError` where calls and outputs do not fit together.
 */
export function toInput(
  { items: all }: Pick<ModelRequest, 'items'>,
  skipped: (item: Item) => void,
): readonly JsonObject[] {
  const { items, outputs } = pairCalls(all);
  const answers = new Set(outputs.values());
  const input: JsonObject[] = [];
  const calls: Calls = { modelCall: undefined, open: [] };
  for (const item of items) {
    if (SILENT_TYPES.has(item.type) || answers.has(item)) continue;
    const call = answeredCall(item, outputs);
    if (call) addCall(calls, item, call, input);
    else addOther(calls, item, input, skipped);
  }
  answerCalls(calls, input);
  return input;
}

function addCall(calls: Calls, item: Item, call: AnsweredCall, input: JsonObject[]): void {
  const modelCall = modelCallOfItem(String(item.id));
  // Calls of one answer are parallel; those of two rounds are not, though nothing stands between them.
  if (calls.modelCall !== modelCall) answerCalls(calls, input);
  calls.modelCall = modelCall;
  calls.open.push(call);
  input.push({ type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments });
}

function answerCalls(calls: Calls, input: JsonObject[]): void {
  for (const { id, output } of calls.open.splice(0)) {
    input.push({ type: 'function_call_output', call_id: id, output: outputOf(output) });
  }
}

function outputOf(output: unknown): unknown {
  return typeof output === 'string' || Array.isArray(output) ? output : JSON.stringify(output ?? '');
}

function addOther(calls: Calls, item: Item, input: JsonObject[], skipped: (item: Item) => void): void {
  answerCalls(calls, input);
  const said = imageMessage(item) ?? item;
  const written = said.type === 'message' ? message(said) : ownItem(said);
  if (written) input.push(written);
  // Another server's thoughts cannot be read here; that is no loss to be told.
  else if (item.type !== 'reasoning') skipped(item);
}

function message({ role, content, phase }: Item): JsonObject {
  if (role !== 'assistant') return { type: 'message', role, content: content ?? '' };
  const said = { type: 'message', role, content: textOf(content) };
  return typeof phase === 'string' ? { ...said, phase } : said;
}

/** As text, since servers differ in what else they take as the assistant's words. */
function textOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? '';
  return content
    .filter(isRecord)
    .map(({ text, refusal }) => plainTextOf(text ?? refusal))
    .join('');
}

/** What the other server wrote itself, and of this type: a client may have moved it to another item. */
function ownItem({ type, providerState: item }: Item): JsonObject | undefined {
  return isRecord(item) && item.type === type ? item : undefined;
}
