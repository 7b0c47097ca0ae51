/** Repairs chat messages: each tool call has a name, arguments that are JSON, and one result right behind it. */
import { argumentText, type Found, NO_OUTPUT, type Repaired, repairLog } from '../prepare/repair.ts';
import { isRecord } from '../record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A message and its place in the client's list. */
interface Entry {
  readonly message: Fields;
  readonly index: number;
}

/** One call of an assistant message, and the result once it is found. */
interface Slot {
  readonly id: unknown;
  readonly index: number;
  readonly name: unknown;
  result: Fields | undefined;
}

/** The messages as model servers take them, and what had to be done. */
export function repairMessages(messages: readonly unknown[]): Repaired<unknown> {
  const { repairs, found } = repairLog('messages');
  const known = readable(messages, found).map((entry) => withWholeCalls(entry, found));
  const list = answered(merged(known.filter(notEmpty(found)), found), found);
  return { list: repairs.length === 0 ? messages : list, repairs };
}

function readable(messages: readonly unknown[], found: Found): readonly Entry[] {
  return messages.flatMap((message, index) => {
    if (isRecord(message) && typeof message.role === 'string') return [{ message, index }];
    found('not_a_message', index, 'it must be an object with a role.');
    return [];
  });
}

function notEmpty(found: Found): (entry: Entry) => boolean {
  return ({ message: { role, content, tool_calls: calls, ...rest }, index }) => {
    const says = content || callsOf(calls).length > 0 || rest.function_call || rest.refusal || rest.audio;
    if (role !== 'assistant' || says) return true;
    found('empty_message', index, 'an assistant message must have content or tool calls.');
    return false;
  };
}

function callsOf(calls: unknown): readonly Fields[] {
  return Array.isArray(calls) ? calls.filter(isRecord) : [];
}

/** Without empty names, with arguments that are JSON, and with an id for each call. */
function withWholeCalls({ message, index }: Entry, found: Found): Entry {
  const { name, tool_calls: sent, ...rest } = message;
  const isNameless = name === '';
  if (isNameless) found('empty_name', index, 'its name must not be empty.');
  const named = isNameless || name === undefined ? rest : { name, ...rest };
  if (!Array.isArray(sent)) return { index, message: isNameless ? named : message };
  const calls = callsOf(sent).flatMap((call, place) => wholeCall(call, `call_${index}_${place}`, index, found));
  return { index, message: calls.length === 0 ? named : { ...named, tool_calls: calls } };
}

function wholeCall(call: Fields, spareId: string, index: number, found: Found): readonly Fields[] {
  // A custom tool's input is any text.
  if (!isRecord(call.function)) return [call];
  const { name, arguments: text } = call.function;
  if (typeof name !== 'string' || name === '') {
    found('empty_name', index, 'a tool call must name its function.');
    return [];
  }
  const bad = () => found('bad_arguments', index, `the arguments of '${name}' are not a JSON object.`);
  const called = { ...call.function, arguments: argumentText(text, bad) };
  const isKnown = typeof call.id === 'string' && call.id !== '';
  if (!isKnown) found('missing_id', index, `the call of '${name}' has no id.`);
  return [{ ...call, type: 'function', ...(isKnown ? {} : { id: spareId }), function: called }];
}

/** Neighbouring assistant messages as one: many chat templates want roles to take turns. */
function merged(entries: readonly Entry[], found: Found): readonly Entry[] {
  const list: Entry[] = [];
  for (const entry of entries) {
    const last = list.at(-1);
    if (!last || !isMergeable(last) || !isMergeable(entry)) {
      list.push(entry);
      continue;
    }
    found('split_message', entry.index, 'it follows another assistant message.');
    list[list.length - 1] = { index: last.index, message: joined(last.message, entry.message) };
  }
  return list;
}

function isMergeable({ message }: Entry): boolean {
  return message.role === 'assistant' && !message.function_call;
}

function joined(first: Fields, second: Fields): Fields {
  const calls = [...callsOf(first.tool_calls), ...callsOf(second.tool_calls)];
  const both: Fields = { ...first, ...second, content: joinedContent(first.content, second.content) };
  const { tool_calls: _, ...said } = both;
  return calls.length === 0 ? said : { ...said, tool_calls: calls };
}

function joinedContent(first: unknown, second: unknown): unknown {
  if (!first || !second) return first || second || null;
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n${second}`;
  return [...parts(first), ...parts(second)];
}

function parts(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }];
}

/** Each result right behind its call, and no other result anywhere. */
function answered(entries: readonly Entry[], found: Found): readonly Fields[] {
  const open = new Map<unknown, Slot>();
  const list: (Fields | Slot)[] = [];
  let current: readonly Slot[] = [];
  for (const { message, index } of entries) {
    if (message.role === 'tool') {
      takeResult(message, index, open, current, found);
      continue;
    }
    current = slotsOf(message, index);
    for (const slot of current) open.set(slot.id, slot);
    list.push(message, ...current);
  }
  return list.map((each) => (isSlot(each) ? resultOf(each, found) : each));
}

function slotsOf({ tool_calls: calls }: Fields, index: number): readonly Slot[] {
  return callsOf(calls).map(({ id, function: called, custom }) => {
    const named = isRecord(called) ? called : custom;
    return { id, index, name: isRecord(named) ? named.name : undefined, result: undefined };
  });
}

function isSlot(each: Fields | Slot): each is Slot {
  return !('role' in each);
}

function takeResult(
  message: Fields,
  index: number,
  open: ReadonlyMap<unknown, Slot>,
  current: readonly Slot[],
  found: Found,
): void {
  const { tool_call_id: id } = message;
  const slot = id ? open.get(id) : current.find(({ result }) => !result);
  if (!slot) return found('orphan_output', index, `no tool call with the id '${id ?? ''}' stands before it.`);
  if (slot.result) return found('duplicate_output', index, `the tool call '${id}' has its result already.`);
  if (!id) found('missing_id', index, 'it has no tool_call_id.');
  if (!current.includes(slot)) found('misplaced_output', index, `it must stand right behind the tool call '${id}'.`);
  slot.result = id ? message : { ...message, tool_call_id: slot.id };
}

function resultOf({ id, index, name, result }: Slot, found: Found): Fields {
  if (result) return result;
  found('missing_output', index, `the tool call '${id}' of '${name}' has no result.`);
  return { role: 'tool', tool_call_id: id, content: NO_OUTPUT };
}
