/** Repairs the input of a Responses request: each call has a name, arguments that are JSON, and one output behind it. */
import { isCall, isCallOutput } from '../prepare/pair-calls.ts';
import { argumentText, type Found, NO_OUTPUT, type Repaired, repairLog } from '../prepare/repair.ts';
import { isRecord } from '../record.ts';

type Fields = Readonly<Record<string, unknown> & { type: string }>;

/** An item, its place in the client's list, and for a call the output once it is found. */
interface Entry {
  readonly item: Fields;
  readonly index: number;
  output?: Entry;
}

/** The items as model servers take them, and what had to be done. */
export function repairInput(items: readonly unknown[]): Repaired<unknown> {
  const { repairs: all, found } = repairLog('input');
  const entries = items.flatMap((item, index) => wholeEntry(item, index, found));
  const placed = answered(entries, found);
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
  const typed = item as Fields;
  return isCall(typed) ? wholeCall(typed, index, found) : [{ item: typed, index }];
}

function wholeCall(item: Fields, index: number, found: Found): readonly Entry[] {
  const { name, arguments: text } = item;
  if (typeof name !== 'string' || name === '') {
    found('empty_name', index, 'a call must name its function.');
    return [];
  }
  const isKnown = isId(item.call_id);
  if (!isKnown) found('missing_id', index, `the call of '${name}' has no call_id.`);
  const identified = isKnown ? item : { ...item, call_id: `call_${index}` };
  if (item.type !== 'function_call') return [{ item: identified, index }];
  const bad = () => found('bad_arguments', index, `the arguments of '${name}' are not a JSON object.`);
  const whole = argumentText(text, bad);
  return [{ item: whole === text ? identified : { ...identified, arguments: whole }, index }];
}

function isId(id: unknown): boolean {
  return typeof id === 'string' && id !== '';
}

function answered(entries: readonly Entry[], found: Found): readonly Entry[] {
  const calls = entries.filter(({ item }) => isCall(item));
  const moved = new Set<Entry>();
  const gone = new Set<Entry>();
  for (const entry of entries) {
    if (!isCallOutput(entry.item)) continue;
    const call = callOf(entry, calls);
    if (!call && !isUsable(entry, calls, found)) gone.add(entry);
    if (!call) continue;
    call.output = entry;
    if (call.index < entry.index) continue;
    moved.add(entry);
    found('misplaced_output', entry.index, `it must stand behind the call '${entry.item.call_id}'.`);
  }
  return inOrder(
    entries.filter((entry) => !moved.has(entry) && !gone.has(entry)),
    moved,
    found,
  );
}

/** The newest unanswered call before the output, since ids come back in later turns; else the first one after it. */
function callOf({ item, index }: Entry, calls: readonly Entry[]): Entry | undefined {
  const open = calls.filter((call) => !call.output && call.item.call_id === item.call_id);
  return open.findLast((call) => call.index < index) ?? open[0];
}

/** An output that names its tool brings its call along. */
function isUsable({ item, index }: Entry, calls: readonly Entry[], found: Found): boolean {
  const { call_id: id } = item;
  if (calls.some((call) => call.item.call_id === id)) {
    found('duplicate_output', index, `the call '${id}' has its output already.`);
    return false;
  }
  if (typeof item.name === 'string') return true;
  found('orphan_output', index, `there is no call with the call_id '${id}'.`);
  return false;
}

/** What a call still needs comes behind it and its neighbours, so that parallel calls stay together. */
function inOrder(entries: readonly Entry[], moved: ReadonlySet<Entry>, found: Found): readonly Entry[] {
  const list: Entry[] = [];
  let owed: Entry[] = [];
  for (const entry of entries) {
    if (!isCall(entry.item)) list.push(...owed.splice(0));
    list.push(entry);
    if (isCall(entry.item)) owed = [...owed, ...owedTo(entry, moved, found)];
  }
  return [...list, ...owed];
}

function owedTo({ item, index, output }: Entry, moved: ReadonlySet<Entry>, found: Found): readonly Entry[] {
  if (output) return moved.has(output) ? [output] : [];
  // A call that was cut off is left out by whoever writes the conversation for a model.
  if (item.status === 'incomplete') return [];
  found('missing_output', index, `the call '${item.call_id}' of '${item.name}' has no output.`);
  return [{ item: { type: `${item.type}_output`, call_id: item.call_id, output: NO_OUTPUT }, index: -1 }];
}
