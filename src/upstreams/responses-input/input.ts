/** Writes a conversation of items as the input of a Responses request to another server. */

import { type AnsweredCall, answeredCall, SILENT_TYPES } from '../../protocol/chat-completions/messages.ts';
import { modelCallOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';
import { imageMessage } from '../../protocol/tool-calls/image-generation-call.ts';
import { type CallIds, callIds } from '../../protocol/tool-calls/names/call-ids.ts';
import { pairCalls } from '../../protocol/tool-calls/pair-calls.ts';

/** An item in the form the other server needs: complete, except for fields that only report progress. */
export function stateOf({ status: _, ...item }: JsonObject): JsonObject {
  return item;
}

/** The calls of one model answer, whose outputs follow after all of them. */
interface Calls {
  modelCall: string | undefined;
  readonly open: AnsweredCall[];
  /** Whether an output of them has come, which ends an answer that is not known by its items' ids. */
  isAnswered: boolean;
  /** OpenAI accepts at most 64 characters. */
  readonly ids: CallIds;
}

/**
 * Writes the items without this server's own ids: calls become function calls, whoever ran them. `skipped` receives the
 * unsupported items. Throws `ApiError` if calls and outputs do not match.
 */
export function toInput(
  { items: all }: Pick<ModelRequest, 'items'>,
  skipped: (item: Item) => void,
): readonly JsonObject[] {
  const { items, outputs } = pairCalls(all);
  const answers = new Set(outputs.values());
  const input: JsonObject[] = [];
  const calls: Calls = { modelCall: undefined, open: [], isAnswered: false, ids: callIds('long') };
  for (const item of items) {
    calls.isAnswered ||= answers.has(item);
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
  // Calls of one answer are parallel; those of two rounds are not, although nothing separates them.
  if (calls.modelCall !== modelCall || (modelCall === undefined && calls.isAnswered)) answerCalls(calls, input);
  calls.modelCall = modelCall;
  const id = calls.ids(call.id);
  calls.open.push({ ...call, id });
  input.push({ type: 'function_call', call_id: id, name: call.name, arguments: call.arguments });
}

function answerCalls(calls: Calls, input: JsonObject[]): void {
  for (const { id, output } of calls.open.splice(0)) {
    input.push({ type: 'function_call_output', call_id: id, output: outputOf(output) });
  }
  calls.isAnswered = false;
}

function outputOf(output: unknown): unknown {
  return typeof output === 'string' || Array.isArray(output) ? output : JSON.stringify(output ?? '');
}

function addOther(calls: Calls, item: Item, input: JsonObject[], skipped: (item: Item) => void): void {
  answerCalls(calls, input);
  const shown = imageMessage(item) ?? item;
  const written = shown.type === 'message' ? message(shown) : ownItem(shown);
  if (written) input.push(written);
  // Another server's thoughts cannot be read here; that loss is not reported.
  else if (item.type !== 'reasoning') skipped(item);
}

function message({ role, content, phase }: Item): JsonObject {
  if (role !== 'assistant') return { type: 'message', role, content: content ?? '' };
  const plain = { type: 'message', role, content: textOf(content) };
  return typeof phase === 'string' ? { ...plain, phase } : plain;
}

/** Written as text, because servers differ in the other parts that they accept from the assistant. */
function textOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? '';
  return content
    .filter(isRecord)
    .map(({ text, refusal }) => plainTextOf(text ?? refusal))
    .join('');
}

/** The other server's own item, if it has this type: a client may have moved the state to another item. */
function ownItem({ type, providerState: item }: Item): JsonObject | undefined {
  return isRecord(item) && item.type === type ? item : undefined;
}
