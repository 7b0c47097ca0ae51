/** Repairs chat messages: each tool call has a name, arguments that are JSON, and one result directly after it. */

import { argumentText, type Found, NO_OUTPUT, type Repaired, repairLog } from '../../../engine/history/repair.ts';
import { quoteId } from '../../../protocol/ids.ts';
import { isRecord, type JsonObject, recordsIn } from '../../../protocol/record.ts';

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
  const repaired: Entry[] = [];
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message) || typeof message.role !== 'string') {
      found('not_a_message', index, 'it must be an object with a role.');
      continue;
    }
    const entry = repairCalls({ message, index }, found);
    if (isEmptyAnswer(entry.message))
      found('empty_message', index, 'an assistant message must have content or tool calls.');
    else repaired.push(entry);
  }
  // A removed result may have separated two messages.
  const entries = mergeAnswers(placeResults(mergeAnswers(repaired, found), continues, found), found);
  const repairs = all();
  const list = repairs.length === 0 ? messages : entries.map(({ message }) => message);
  return { list, places: entries.map(({ index }) => index), repairs };
}

function isEmptyAnswer({ role, content, tool_calls: calls, ...rest }: JsonObject): boolean {
  if (role !== 'assistant' || content || recordsIn(calls).length > 0) return false;
  return !(rest.function_call || rest.refusal || rest.audio);
}

/** Without empty names, with arguments that are JSON, and with an id for each call. */
function repairCalls({ message, index }: Entry, found: Found): Entry {
  const { name, tool_calls: sent, ...rest } = message;
  const isNameless = name === '';
  if (isNameless) found('empty_name', index, 'its name must not be empty.');
  const named = isNameless || name === undefined ? rest : { name, ...rest };
  if (!Array.isArray(sent)) return { index, message: isNameless ? named : message };
  const calls = sent.flatMap((call, place) => repairCall(call, `call_${index}_${place}`, index, found));
  return { index, message: calls.length === 0 ? named : { ...named, tool_calls: calls } };
}

function repairCall(sent: unknown, spareId: string, index: number, found: Found): readonly JsonObject[] {
  const { custom, ...call }: JsonObject = isRecord(sent) ? sent : {};
  const called = isRecord(call.function) ? call.function : isRecord(custom) ? custom : {};
  const { name } = called;
  if (typeof name !== 'string' || name === '') {
    found('empty_name', index, 'a tool call must name its function.');
    return [];
  }
  const isKnown = typeof call.id === 'string' && call.id !== '';
  if (!isKnown) found('missing_id', index, `the call of ${quoteId(name)} has no id.`);
  const identified = isKnown ? call : { ...call, id: spareId };
  // A custom tool's input is any text.
  if (called === custom) return [{ ...identified, custom }];
  const bad = () => found('bad_arguments', index, `the arguments of ${quoteId(name)} are not a JSON object.`);
  const whole = { ...called, arguments: argumentText(called.arguments, bad) };
  return [{ ...identified, type: 'function', function: whole }];
}

/** Merges adjacent assistant messages: many chat templates require alternating roles. */
function mergeAnswers(entries: readonly Entry[], found: Found): readonly Entry[] {
  const runs: Entry[][] = [];
  const isMergeable = ({ message }: Entry) => message.role === 'assistant' && !message.function_call;
  for (const entry of entries) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run && last && isMergeable(last) && isMergeable(entry)) {
      found('split_message', entry.index, 'it follows another assistant message.');
      run.push(entry);
    } else runs.push([entry]);
  }
  return runs.flatMap((run) => (run.length > 1 ? [mergeRun(run)] : run));
}

function mergeRun(run: readonly Entry[]): Entry {
  // A field that a later message omits keeps its value.
  const fields = run.flatMap(({ message }) => Object.entries(message).filter(([, value]) => value !== null));
  const calls = run.flatMap(({ message }) => recordsIn(message.tool_calls));
  const contents = run.map(({ message }) => message.content).filter(Boolean);
  let content = contents[0] ?? null;
  if (contents.length > 1 && contents.every((each) => typeof each === 'string')) content = contents.join('\n');
  else if (contents.length > 1)
    content = contents.flatMap((each) => (Array.isArray(each) ? each : [{ type: 'text', text: each }]));
  const { tool_calls: _, ...rest }: JsonObject = { ...Object.fromEntries(fields), content };
  return { index: run[0]?.index ?? -1, message: calls.length === 0 ? rest : { ...rest, tool_calls: calls } };
}

/** Each result directly after its call, and no other results. */
function placeResults(entries: readonly Entry[], continues: boolean, found: Found): readonly Entry[] {
  const slots = openSlots();
  const list: (Entry | Slot)[] = [];
  for (const entry of entries) {
    const { role, tool_call_id: id } = entry.message;
    if (role === 'tool' && !(continues && !slots.find(id))) {
      takeResult(entry, slots, found);
      continue;
    }
    list.push(entry);
    for (const slot of slots.open(callSlots(entry))) list.push(slot);
  }
  return list.map((each) => ('message' in each ? each : resultEntry(each, found)));
}

function callSlots({ message: { role, tool_calls: calls }, index }: Entry): readonly Slot[] {
  if (role !== 'assistant') return [];
  return recordsIn(calls).map(({ id, function: called, custom }) => {
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
    find: (id) => lastOpenSlot((id ? byId.get(id) : latest) ?? []),
    isLatest: ({ index }) => index === latest[0]?.index,
  };
}

/** The last one without a result; if each has one, the last of all. */
function lastOpenSlot(slots: Slot[]): Slot | undefined {
  while (slots.length > 1 && slots.at(-1)?.result) slots.pop();
  return slots.at(-1);
}

function takeResult(entry: Entry, slots: OpenSlots, found: Found): void {
  const { message, index } = entry;
  const { tool_call_id: id } = message;
  const slot = slots.find(id);
  if (!slot) return found('orphan_output', index, `no tool call with the id ${quoteId(id ?? '')} stands before it.`);
  if (slot.result) return found('duplicate_output', index, `the tool call ${quoteId(slot.id)} has its result already.`);
  if (!id) found('missing_id', index, 'it has no tool_call_id.');
  if (!slots.isLatest(slot))
    found('misplaced_output', index, `it must stand right behind the tool call ${quoteId(id)}.`);
  slot.result = id ? entry : { index, message: { ...message, tool_call_id: slot.id } };
}

function resultEntry({ id, index, name, result }: Slot, found: Found): Entry {
  if (result) return result;
  found('missing_output', index, `the tool call ${quoteId(id)} of ${quoteId(name)} has no result.`);
  return { index: -1, message: { role: 'tool', tool_call_id: id, content: NO_OUTPUT } };
}
