/** Repairs the input of a Responses request: each call has a name, arguments that are JSON, and one output after it. */

import { argumentText, type Found, NO_OUTPUT, type Repaired, repairLog } from '../../engine/history/repair.ts';
import { quoteId } from '../../protocol/ids.ts';
import { isFilledText, isRecord } from '../../protocol/record.ts';
import { endsRound, isCutOff, WaitingCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { answeredId, isCallOutput, isClientAnsweredCall, writtenKind } from '../../protocol/tool-calls/kinds.ts';

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
  const entries = items.flatMap((item, index): readonly Entry[] => {
    if (!isRecord(item)) {
      found('not_a_message', index, 'it must be an object.');
      return [];
    }
    // The cast: messages may come without a type.
    const typed = item as TypedObject;
    return isClientAnsweredCall(typed) ? repairCall(typed, index, found) : [{ item: typed, index }];
  });
  const firstReference = items.findIndex(isReference);
  const unseen: UnseenItems = {
    first: continues ? -1 : firstReference < 0 ? Number.POSITIVE_INFINITY : firstReference,
    firstReference: firstReference < 0 ? Number.POSITIVE_INFINITY : firstReference,
    lastReference: items.findLastIndex(isReference),
    outputs: new Set(),
  };
  const calls = new OpenCalls(entries.filter(({ item }) => isClientAnsweredCall(item)));
  const paired: Entry[] = [];
  for (const entry of entries) {
    if (isClientAnsweredCall(entry.item)) calls.reach(entry);
    else if (endsRound(entry.item)) calls.endRound();
    if (!isCallOutput(entry.item) || staysInPlace(entry, calls, unseen, found)) paired.push(entry);
  }
  const ordered = withMovedOutputs(paired, unseen, found);
  const repairs = all();
  const list = repairs.length === 0 ? items : ordered.map(({ item }) => item);
  return { list, places: ordered.map(({ index }) => index), repairs };
}

function repairCall(item: TypedObject, index: number, found: Found): readonly Entry[] {
  const { arguments: text } = item;
  // Calls of functions and of custom tools name it, and those of other types have one tool.
  const tool = writtenKind(item)?.tool ?? item.name;
  if (!isFilledText(tool)) {
    found('empty_name', index, 'a call must name its function.');
    return [];
  }
  const hasId = isFilledText(item.call_id);
  if (!hasId) found('missing_id', index, `the call of ${quoteId(tool)} has no call_id.`);
  const identified = hasId ? item : { ...item, call_id: `call_${index}` };
  if (item.type !== 'function_call') return [{ item: identified, index }];
  const bad = () => found('bad_arguments', index, `the arguments of ${quoteId(tool)} are not a JSON object.`);
  const whole = argumentText(text, bad);
  return [{ item: whole === text ? identified : { ...identified, arguments: whole }, index }];
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

/** The type of a reference is optional. */
function isReference(item: unknown): boolean {
  if (!isRecord(item) || !isFilledText(item.id)) return false;
  return item.type === 'item_reference' || ((item.type ?? undefined) === undefined && item.role === undefined);
}

/** The calls without an output. A conversation may be long: each output is matched in constant time. */
class OpenCalls {
  private readonly before = new WaitingCalls<Entry>();
  private readonly reached = new Set<unknown>();
  private readonly after = new Map<unknown, Entry[]>();

  constructor(calls: readonly Entry[]) {
    for (const call of calls.toReversed()) {
      const { call_id: id } = call.item;
      const sameId = this.after.get(id);
      if (sameId) sameId.push(call);
      else this.after.set(id, [call]);
    }
  }

  /** Records that the walk along the list has reached this call. */
  reach(call: Entry): void {
    const { call_id: id } = call.item;
    this.reached.add(id);
    if (call.output) return;
    this.after.get(id)?.pop();
    this.before.add(id, call, isCutOff(call.item));
  }

  /** Records that the calls before the current position are not parallel to those after it. */
  endRound(): void {
    this.before.endRound();
  }

  /** The call before the current position that an output there answers. */
  takeBefore(id: unknown): Entry | undefined {
    return this.before.take(id);
  }

  /** The first one after it. */
  takeAfter(id: unknown): Entry | undefined {
    return this.after.get(id)?.pop();
  }

  /** Whether the list has such a call before the current position. */
  isReached(id: unknown): boolean {
    return this.reached.has(id);
  }

  /** Whether it has one anywhere. */
  has(id: unknown): boolean {
    return this.after.has(id);
  }
}

/** Whether the output stays in place; one that precedes its call is moved after it. */
function staysInPlace(output: Entry, calls: OpenCalls, unseen: UnseenItems, found: Found): boolean {
  const { item, index } = output;
  const { name } = item;
  const id = answeredId(item);
  const before = calls.takeBefore(id);
  const callMayBeUnseen = index > (calls.isReached(id) ? unseen.firstReference : unseen.first);
  if (!before && isFilledText(id) && callMayBeUnseen) {
    unseen.outputs.add(id);
    return true;
  }
  const call = before ?? calls.takeAfter(id);
  if (call) {
    call.output = output;
    const isMisplaced = index < call.index;
    if (isMisplaced) found('misplaced_output', index, `it must stand behind the call ${quoteId(id)}.`);
    return !isMisplaced;
  }
  if (calls.has(id)) found('duplicate_output', index, `the call ${quoteId(id)} has its output already.`);
  // An output that names its tool brings its call along.
  else if (typeof name === 'string') return true;
  else found('orphan_output', index, `there is no call with the call_id ${quoteId(id)}.`);
  return false;
}

/**
 * Missing outputs follow the call and its neighbours, so that parallel calls stay together, and the outputs of calls that
 * share their id.
 */
function withMovedOutputs(entries: readonly Entry[], unseen: UnseenItems, found: Found): readonly Entry[] {
  const list: Entry[] = [];
  let owed: Entry[] = [];
  let owedIds = new Set<unknown>();
  /** Outputs behind calls that have been reached. An output in front of them would part these calls from their parallel ones. */
  const coming = new Set<Entry>();
  for (const entry of entries) {
    const isShared = isCallOutput(entry.item) && owedIds.has(answeredId(entry.item));
    // An output behind a call of the next round would be taken for that call's.
    const last = list.at(-1);
    const isNextRound = last !== undefined && isCallOutput(last.item);
    const isAmidRound = coming.size > 0 && !endsRound(entry.item);
    if (isClientAnsweredCall(entry.item) ? isNextRound : !isShared && !isAmidRound) {
      for (const output of owed) list.push(output);
      owed = [];
      owedIds = new Set();
    }
    list.push(entry);
    coming.delete(entry);
    if (entry.output && entry.output.index > entry.index) coming.add(entry.output);
    const output = isClientAnsweredCall(entry.item) ? owedOutput(entry, unseen, found) : undefined;
    if (!output) continue;
    owed.push(output);
    owedIds.add(answeredId(output.item));
  }
  return [...list, ...owed];
}

/** The output that is to follow the call: its own where it stood before the call, or one that says that there is none. */
function owedOutput({ item, index, output }: Entry, unseen: UnseenItems, found: Found): Entry | undefined {
  if (output) return output.index < index ? output : undefined;
  // A truncated call is left out when the conversation is written for a model.
  if (isCutOff(item)) return undefined;
  if (index < unseen.lastReference || unseen.outputs.has(item.call_id)) return undefined;
  const kind = writtenKind(item);
  const tool = kind?.tool ?? item.name;
  found('missing_output', index, `the call ${quoteId(item.call_id)} of ${quoteId(tool)} has no output.`);
  const answer = kind?.answeredBy;
  return answer && { item: { type: answer.type, call_id: item.call_id, ...answer.missing(NO_OUTPUT) }, index: -1 };
}
