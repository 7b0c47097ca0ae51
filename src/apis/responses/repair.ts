/** Repairs the input of a Responses request: each call has a name, arguments that are JSON, and one output after it. */

import { argumentText, type Found, NO_OUTPUT, type Repaired, repairLog } from '../../engine/history/repair.ts';
import { quotedId } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/record.ts';
import { answeredId, isCall, isCallOutput, writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { endsRound, isCutOff, WaitingCalls } from '../../protocol/tool-calls/pair-calls.ts';

type TypedObject = Readonly<Record<string, unknown> & { type: string }>;

/** An item, its index in the client's list, and for a call its output once found. */
interface Entry {
  readonly item: TypedObject;
  readonly index: number;
  output?: Entry;
}

/**
 * The items as model servers accept them, and the repairs that were made. With `continues`, other items stand before
 * these; where they or those of an `item_reference` may hold a call or its output, nothing is repaired.
 */
export function repairInput(items: readonly unknown[], continues = false): Repaired<unknown> {
  const { repairs: all, found } = repairLog('input');
  const entries = items.flatMap((item, index) => wholeEntry(item, index, found));
  const placed = answered(entries, unseenItems(items, continues), found);
  const repairs = all();
  const list = repairs.length === 0 ? items : placed.map(({ item }) => item);
  return { list, places: placed.map(({ index }) => index), repairs };
}

function wholeEntry(item: unknown, index: number, found: Found): readonly Entry[] {
  if (!isRecord(item)) {
    found('not_a_message', index, 'it must be an object.');
    return [];
  }
  // The cast: messages may come without a type.
  const typed = item as TypedObject;
  return isCall(typed) ? wholeCall(typed, index, found) : [{ item: typed, index }];
}

function wholeCall(item: TypedObject, index: number, found: Found): readonly Entry[] {
  const { arguments: text } = item;
  const tool = toolOf(item);
  if (!isId(tool)) {
    found('empty_name', index, 'a call must name its function.');
    return [];
  }
  const isKnown = isId(item.call_id);
  if (!isKnown) found('missing_id', index, `the call of ${quotedId(tool)} has no call_id.`);
  const identified = isKnown ? item : { ...item, call_id: `call_${index}` };
  if (item.type !== 'function_call') return [{ item: identified, index }];
  const bad = () => found('bad_arguments', index, `the arguments of ${quotedId(tool)} are not a JSON object.`);
  const whole = argumentText(text, bad);
  return [{ item: whole === text ? identified : { ...identified, arguments: whole }, index }];
}

/** The tool that is called: calls of functions and of custom tools name it, and those of other types have one tool. */
function toolOf(item: TypedObject): unknown {
  return writtenKind(item)?.tool ?? item.name;
}

function isId(id: unknown): boolean {
  return typeof id === 'string' && id !== '';
}

/** Where items stand of which the list holds only an id, or nothing. */
interface UnseenItems {
  /** Indices in the client's list; those of items of the history are -1. */
  readonly first: number;
  readonly firstReference: number;
  readonly lastReference: number;
  /** The ids of outputs that may answer an unseen call. */
  readonly outputs: Set<unknown>;
}

function unseenItems(items: readonly unknown[], continues: boolean): UnseenItems {
  const at = items.findIndex(isReference);
  const firstReference = at < 0 ? Number.POSITIVE_INFINITY : at;
  const lastReference = items.findLastIndex(isReference);
  return { first: continues ? -1 : firstReference, firstReference, lastReference, outputs: new Set() };
}

/** The type of a reference is optional. */
function isReference(item: unknown): boolean {
  if (!isRecord(item) || !isId(item.id)) return false;
  return item.type === 'item_reference' || ((item.type ?? undefined) === undefined && item.role === undefined);
}

function answered(entries: readonly Entry[], unseen: UnseenItems, found: Found): readonly Entry[] {
  const calls = openCalls(entries.filter(({ item }) => isCall(item)));
  const placed: Entry[] = [];
  for (const entry of entries) {
    if (isCall(entry.item)) calls.reach(entry);
    else if (endsRound(entry.item)) calls.endRound();
    if (!isCallOutput(entry.item) || mayStay(entry, calls, unseen, found)) placed.push(entry);
  }
  return inOrder(placed, unseen, found);
}

/** The calls without an output. A conversation may be long: each output is matched in constant time. */
interface OpenCalls {
  /** Records that the walk along the list has reached this call. */
  reach(call: Entry): void;
  /** Records that the calls before the current position are not parallel to those after it. */
  endRound(): void;
  /** The call before the current position that an output there answers. */
  takeBefore(id: unknown): Entry | undefined;
  /** The first one after it. */
  takeAfter(id: unknown): Entry | undefined;
  /** Whether the list has such a call before the current position, and whether it has one anywhere. */
  isReached(id: unknown): boolean;
  isKnown(id: unknown): boolean;
}

function openCalls(calls: readonly Entry[]): OpenCalls {
  const before = new WaitingCalls<Entry>();
  const reached = new Set<unknown>();
  const after = new Map<unknown, Entry[]>();
  for (const call of calls.toReversed()) push(after, call);
  return {
    reach(call) {
      reached.add(call.item.call_id);
      if (call.output) return;
      after.get(call.item.call_id)?.pop();
      before.add(call.item.call_id, call, isCutOff(call.item));
    },
    endRound: () => before.endRound(),
    takeBefore: (id) => before.take(id),
    takeAfter: (id) => after.get(id)?.pop(),
    isReached: (id) => reached.has(id),
    isKnown: (id) => after.has(id),
  };
}

function push(calls: Map<unknown, Entry[]>, call: Entry): void {
  const { call_id: id } = call.item;
  const known = calls.get(id);
  if (known) known.push(call);
  else calls.set(id, [call]);
}

/** Whether the output stays in place; one that precedes its call is moved after it. */
function mayStay(output: Entry, calls: OpenCalls, unseen: UnseenItems, found: Found): boolean {
  const { item, index } = output;
  const { name } = item;
  const id = answeredId(item);
  const before = calls.takeBefore(id);
  const callMayBeUnseen = index > (calls.isReached(id) ? unseen.firstReference : unseen.first);
  if (!before && isId(id) && callMayBeUnseen) {
    unseen.outputs.add(id);
    return true;
  }
  const call = before ?? calls.takeAfter(id);
  if (call) {
    call.output = output;
    if (isBefore(output, call)) found('misplaced_output', index, `it must stand behind the call ${quotedId(id)}.`);
    return !isBefore(output, call);
  }
  if (calls.isKnown(id)) found('duplicate_output', index, `the call ${quotedId(id)} has its output already.`);
  // An output that names its tool brings its call along.
  else if (typeof name === 'string') return true;
  else found('orphan_output', index, `there is no call with the call_id ${quotedId(id)}.`);
  return false;
}

function isBefore(output: Entry, call: Entry): boolean {
  return output.index < call.index;
}

/**
 * Missing outputs follow the call and its neighbours, so that parallel calls stay together, and the outputs of calls that
 * share their id.
 */
function inOrder(entries: readonly Entry[], unseen: UnseenItems, found: Found): readonly Entry[] {
  const list: Entry[] = [];
  let owed: Entry[] = [];
  let owedIds = new Set<unknown>();
  for (const entry of entries) {
    const isShared = isCallOutput(entry.item) && owedIds.has(answeredId(entry.item));
    // An output behind a call of the next round would be taken for that call's.
    const last = list.at(-1);
    const isNextRound = last !== undefined && isCallOutput(last.item);
    if (isCall(entry.item) ? isNextRound : !isShared) {
      for (const output of owed) list.push(output);
      owed = [];
      owedIds = new Set();
    }
    list.push(entry);
    if (!isCall(entry.item)) continue;
    for (const output of owedTo(entry, unseen, found)) {
      owed.push(output);
      owedIds.add(answeredId(output.item));
    }
  }
  return [...list, ...owed];
}

function owedTo(call: Entry, unseen: UnseenItems, found: Found): readonly Entry[] {
  const { item, index, output } = call;
  if (output) return isBefore(output, call) ? [output] : [];
  // A truncated call is left out when the conversation is written for a model.
  if (isCutOff(item)) return [];
  if (index < unseen.lastReference || unseen.outputs.has(item.call_id)) return [];
  found('missing_output', index, `the call ${quotedId(item.call_id)} of ${quotedId(toolOf(item))} has no output.`);
  const answer = writtenKind(item)?.answeredBy;
  if (!answer) return [];
  return [{ item: { type: answer.type, call_id: item.call_id, ...answer.missing(NO_OUTPUT) }, index: -1 }];
}
