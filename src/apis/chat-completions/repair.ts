/** Repairs chat messages: each tool call has a name, arguments that are JSON, and one result directly after it. */

import { argumentText, type Found, NO_OUTPUT, type Repaired, repairLog } from '../../engine/history/repair.ts';
import { quotedId } from '../../protocol/ids.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** A message and its place in the client's list. */
interface Entry {
  readonly message: JsonObject;
  readonly index: number;
}

/** One call of an assistant message, and its result once found. */
interface Slot {
  readonly id: unknown;
  readonly index: number;
  readonly name: unknown;
  result: Entry | undefined;
}

/**
 * The messages as model servers accept them, and the repairs that were made. With `continues`, other messages stand
 * before these, and a result whose call is not among these is left alone.
 */
export function repairMessages(messages: readonly unknown[], continues = false): Repaired<unknown> {
  const { repairs: all, found } = repairLog('messages');
  const known = readable(messages, found).map((entry) => withWholeCalls(entry, found));
  const placed = answered(merged(known.filter(notEmpty(found)), found), continues, found);
  // A removed result may have separated two messages.
  const entries = merged(placed, found);
  const repairs = all();
  const list = repairs.length === 0 ? messages : entries.map(({ message }) => message);
  return { list, places: entries.map(({ index }) => index), repairs };
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
    const hasContent = content || callsOf(calls).length > 0 || rest.function_call || rest.refusal || rest.audio;
    if (role !== 'assistant' || hasContent) return true;
    found('empty_message', index, 'an assistant message must have content or tool calls.');
    return false;
  };
}

function callsOf(calls: unknown): readonly JsonObject[] {
  return Array.isArray(calls) ? calls.filter(isRecord) : [];
}

/** Without empty names, with arguments that are JSON, and with an id for each call. */
function withWholeCalls({ message, index }: Entry, found: Found): Entry {
  const { name, tool_calls: sent, ...rest } = message;
  const isNameless = name === '';
  if (isNameless) found('empty_name', index, 'its name must not be empty.');
  const named = isNameless || name === undefined ? rest : { name, ...rest };
  if (!Array.isArray(sent)) return { index, message: isNameless ? named : message };
  const calls = sent.flatMap((call, place) => wholeCall(call, `call_${index}_${place}`, index, found));
  return { index, message: calls.length === 0 ? named : { ...named, tool_calls: calls } };
}

function wholeCall(sent: unknown, spareId: string, index: number, found: Found): readonly JsonObject[] {
  const { custom, ...call }: JsonObject = isRecord(sent) ? sent : {};
  const called = isRecord(call.function) ? call.function : isRecord(custom) ? custom : {};
  const { name } = called;
  if (typeof name !== 'string' || name === '') {
    found('empty_name', index, 'a tool call must name its function.');
    return [];
  }
  const isKnown = typeof call.id === 'string' && call.id !== '';
  if (!isKnown) found('missing_id', index, `the call of ${quotedId(name)} has no id.`);
  const identified = isKnown ? call : { ...call, id: spareId };
  // A custom tool's input is any text.
  if (called === custom) return [{ ...identified, custom }];
  const bad = () => found('bad_arguments', index, `the arguments of ${quotedId(name)} are not a JSON object.`);
  const whole = { ...called, arguments: argumentText(called.arguments, bad) };
  return [{ ...identified, type: 'function', function: whole }];
}

/** Merges adjacent assistant messages: many chat templates require alternating roles. */
function merged(entries: readonly Entry[], found: Found): readonly Entry[] {
  const runs: Entry[][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run && last && isMergeable(last) && isMergeable(entry)) {
      found('split_message', entry.index, 'it follows another assistant message.');
      run.push(entry);
    } else runs.push([entry]);
  }
  return runs.flatMap((run) => (run.length > 1 ? [joined(run)] : run));
}

function isMergeable({ message }: Entry): boolean {
  return message.role === 'assistant' && !message.function_call;
}

function joined(run: readonly Entry[]): Entry {
  // A field that a later message omits keeps its value.
  const given = run.flatMap(({ message }) => Object.entries(message).filter(([, value]) => value !== null));
  const calls = run.flatMap(({ message }) => callsOf(message.tool_calls));
  const { tool_calls: _, ...rest }: JsonObject = {
    ...Object.fromEntries(given),
    content: joinedContent(run.map(({ message }) => message.content)),
  };
  return { index: run[0]?.index ?? -1, message: calls.length === 0 ? rest : { ...rest, tool_calls: calls } };
}

function joinedContent(contents: readonly unknown[]): unknown {
  const given = contents.filter(Boolean);
  if (given.length < 2) return given[0] ?? null;
  return given.every((content) => typeof content === 'string') ? given.join('\n') : given.flatMap(parts);
}

function parts(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }];
}

/** Each result directly after its call, and no other results. */
function answered(entries: readonly Entry[], continues: boolean, found: Found): readonly Entry[] {
  const slots = openSlots();
  const list: (Entry | Slot)[] = [];
  for (const entry of entries) {
    const { role, tool_call_id: id } = entry.message;
    if (role === 'tool' && !(continues && !slots.find(id))) {
      takeResult(entry, slots, found);
      continue;
    }
    list.push(entry);
    for (const slot of slots.open(slotsOf(entry))) list.push(slot);
  }
  return list.map((each) => ('message' in each ? each : resultOf(each, found)));
}

function slotsOf({ message: { role, tool_calls: calls }, index }: Entry): readonly Slot[] {
  if (role !== 'assistant') return [];
  return callsOf(calls).map(({ id, function: called, custom }) => {
    const named = isRecord(called) ? called : custom;
    return { id, index, name: isRecord(named) ? named.name : undefined, result: undefined };
  });
}

/** The calls so far. A conversation may be long: each result is matched in constant time. */
interface OpenSlots {
  /** Takes the calls of the next message; from now on it owns the ids that it repeats. */
  open(slots: readonly Slot[]): readonly Slot[];
  /** The call with this id, or without one the first of the latest message that has no result. */
  find(id: unknown): Slot | undefined;
  isLatest(slot: Slot): boolean;
}

function openSlots(): OpenSlots {
  const byId = new Map<unknown, Slot[]>();
  let latest: Slot[] = [];
  return {
    open(slots) {
      latest = slots.toReversed();
      for (const { id } of latest) byId.set(id, []);
      for (const slot of latest) byId.get(slot.id)?.push(slot);
      return slots;
    },
    find: (id) => nextOf((id ? byId.get(id) : latest) ?? []),
    isLatest: ({ index }) => index === latest[0]?.index,
  };
}

/** The last one without a result; if each has one, the last of all. */
function nextOf(slots: Slot[]): Slot | undefined {
  while (slots.length > 1 && slots.at(-1)?.result) slots.pop();
  return slots.at(-1);
}

function takeResult(entry: Entry, slots: OpenSlots, found: Found): void {
  const { message, index } = entry;
  const { tool_call_id: id } = message;
  const slot = slots.find(id);
  if (!slot) return found('orphan_output', index, `no tool call with the id ${quotedId(id ?? '')} stands before it.`);
  if (slot.result)
    return found('duplicate_output', index, `the tool call ${quotedId(slot.id)} has its result already.`);
  if (!id) found('missing_id', index, 'it has no tool_call_id.');
  if (!slots.isLatest(slot))
    found('misplaced_output', index, `it must stand right behind the tool call ${quotedId(id)}.`);
  slot.result = id ? entry : { index, message: { ...message, tool_call_id: slot.id } };
}

function resultOf({ id, index, name, result }: Slot, found: Found): Entry {
  if (result) return result;
  found('missing_output', index, `the tool call ${quotedId(id)} of ${quotedId(name)} has no result.`);
  return { index: -1, message: { role: 'tool', tool_call_id: id, content: NO_OUTPUT } };
}
