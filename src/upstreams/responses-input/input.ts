/** Writes a conversation of items as the input of a Responses request to another server. */

import { type AnsweredCall, answeredCall, SILENT_TYPES } from '../../protocol/chat-completions/messages.ts';
import { modelCallOfItem } from '../../protocol/ids.ts';
import { contentText } from '../../protocol/item-text.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { pairCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { imageMessage } from '../../protocol/tool-calls/image-generation-call.ts';
import { type CallIds, callIds } from '../../protocol/tool-calls/names/call-ids.ts';
import { NativeInput } from './native-input.ts';

/** An item in the form the other server needs: complete, except for fields that only report progress. */
export function withoutStatus({ status: _, ...item }: JsonObject): JsonObject {
  return item;
}

/** The calls of one model answer, whose outputs follow after all of them. */
interface Calls {
  modelCall: string | undefined;
  readonly open: (AnsweredCall & { readonly about: JsonObject })[];
  /** Whether an output of them has come, which ends an answer that is not known by its items' ids. */
  isAnswered: boolean;
  /** Whether one of them holds its output itself. */
  holdsOutput: boolean;
  /** OpenAI accepts at most 64 characters. */
  readonly ids: CallIds;
}

/**
 * Writes the items without this server's own ids: calls become function calls, whoever ran them, except for those that the
 * server, which takes items as they are, ran itself or knows the tools of; with `isNative` false there are none. `skipped`
 * receives the unsupported items. Throws `ApiError` if calls and outputs do not match.
 */
export function toInput(
  { items: all, native: asked }: Pick<ModelRequest, 'items' | 'native'>,
  skipped: (item: Item) => void,
  isNative = false,
): readonly JsonObject[] {
  const native = new NativeInput(asked, isNative);
  const { items, outputs } = pairCalls(all, (item) => native.isAlone(item));
  const callOf = new Map([...outputs].map(([call, output]) => [output, call]));
  const input: JsonObject[] = [];
  const calls: Calls = { modelCall: undefined, open: [], isAnswered: false, holdsOutput: false, ids: callIds('long') };
  for (const item of items) {
    const answered = callOf.get(item);
    if (native.has(answered ?? item)) {
      // Those of one answer stay beside its other calls.
      if (calls.isAnswered || calls.holdsOutput) answerCalls(calls, input);
      input.push(native.written(item));
      continue;
    }
    calls.isAnswered ||= answered !== undefined;
    if (SILENT_TYPES.has(item.type) || answered) continue;
    const call = answeredCall(item, outputs);
    if (call)
      addFunctionCall(
        calls,
        item,
        { ...call, about: native.output(outputs.get(item)) },
        native.call(item, call.name),
        input,
      );
    else {
      answerCalls(calls, input);
      const shown = imageMessage(item) ?? item;
      const { providerState: state } = shown;
      if (shown.type === 'message') input.push(inputMessage(shown));
      // The other server's own item, if it has this type: a client may have moved the state to another item.
      else if (isRecord(state) && state.type === shown.type) input.push(state);
      // Another server's thoughts cannot be read here; that loss is not reported.
      else if (item.type !== 'reasoning') skipped(item);
    }
    calls.holdsOutput ||= call !== undefined && !outputs.has(item);
  }
  answerCalls(calls, input);
  return input;
}

function addFunctionCall(
  calls: Calls,
  item: Item,
  call: Calls['open'][number],
  named: JsonObject,
  input: JsonObject[],
): void {
  const modelCall = modelCallOfItem(String(item.id));
  // Calls of one answer are parallel; those of two rounds are not, although nothing separates them.
  if (calls.modelCall !== modelCall || (modelCall === undefined && calls.isAnswered)) answerCalls(calls, input);
  calls.modelCall = modelCall;
  const id = calls.ids(call.id);
  calls.open.push({ ...call, id });
  input.push({ type: 'function_call', call_id: id, ...named, arguments: call.arguments });
}

function answerCalls(calls: Calls, input: JsonObject[]): void {
  for (const { id, output, about } of calls.open.splice(0)) {
    input.push({
      type: 'function_call_output',
      call_id: id,
      output: typeof output === 'string' || Array.isArray(output) ? output : JSON.stringify(output ?? ''),
      ...about,
    });
  }
  calls.isAnswered = false;
  calls.holdsOutput = false;
}

function inputMessage({ role, content, phase }: Item): JsonObject {
  if (role !== 'assistant') return { type: 'message', role, content: content ?? '' };
  // Written as text, because servers differ in the other parts that they accept from the assistant.
  const plain = { type: 'message', role, content: contentText(content) };
  return typeof phase === 'string' ? { ...plain, phase } : plain;
}
