/** Matches outputs with tool calls: the one place that checks that a conversation's calls and outputs fit together. */
import { ApiError } from '../errors.ts';
import { printedId } from '../ids.ts';
import type { Item } from '../items.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { answeredId, isCall, isCallOutput, isClientsCall } from './kinds.ts';

/** A call with truncated arguments, which a client need not answer. */
export function isCutOff({ status }: JsonObject): boolean {
  return status === 'incomplete';
}

/**
 * Each call's output, wherever it follows its call; a second output of one call is left out. An output that names its
 * tool but has no call brings its call along: the returned items hold it. A truncated call without an output is left
 * out. Items that are alone need no partner. Throws `tool_output_missing` or `tool_call_not_found`, naming the call.
 */
export function pairCalls(
  items: readonly Item[],
  isAlone: (item: Item) => boolean = () => false,
): { items: readonly Item[]; outputs: ReadonlyMap<Item, Item> } {
  if (!items.some((item) => isCall(item) || isCallOutput(item) || isSearch(item))) return { items, outputs: new Map() };
  const searches = pairSearches(items.filter((item) => !isAlone(item)));
  const open = new WaitingCalls<Item>();
  const outputs = new Map(searches.pairs);
  const answered = new Set<unknown>();
  const paired: Item[] = [];
  for (const item of items) {
    if (isAlone(item)) {
      paired.push(item);
      continue;
    }
    if (isSearch(item) && !searches.has(item)) continue;
    const call = isCallOutput(item) && !searches.answers(item) ? takeCall(open, answered, item, paired) : undefined;
    if (call) outputs.set(call, item);
    if (isCall(item)) open.add(item.call_id, item, isCutOff(item));
    else if (endsRound(item)) open.endRound();
    paired.push(item);
  }
  const unanswered = new Set(open.left());
  for (const call of unanswered) if (!isCutOff(call)) throw outputMissing(call);
  return { items: paired.filter((item) => !unanswered.has(item)), outputs };
}

function isSearch({ type }: Item): boolean {
  return type === 'tool_search_call' || type === 'tool_search_output';
}

/**
 * The outputs of searches for tools. Those of a server have no ids, and follow their calls in the same order, before the
 * user's next message; a call or an output alone is left out.
 */
function pairSearches(items: readonly Item[]) {
  const pairs = new Map<Item, Item>();
  let waiting = new Map<unknown, { readonly calls: Item[]; answered: number }>();
  for (const item of items) {
    if (item.type === 'message' && item.role === 'user') waiting = new Map();
    // A client may answer its own search as if it were a call of a function.
    const isAnswer = item.type === 'function_call_output' && waiting.has(item.call_id);
    if (!isSearch(item) && !isAnswer) continue;
    const queue = waiting.get(item.call_id ?? null) ?? { calls: [], answered: 0 };
    waiting.set(item.call_id ?? null, queue);
    const call = queue.calls[queue.answered];
    if (item.type === 'tool_search_call') queue.calls.push(...(hasOutput(item) ? [] : [item]));
    else if (call) {
      pairs.set(call, item);
      queue.answered += 1;
    }
  }
  const outputs = new Set(pairs.values());
  const has = (item: Item) => pairs.has(item) || outputs.has(item) || hasOutput(item);
  return { pairs, has, answers: (item: Item) => outputs.has(item) };
}

/** The calls of the running turn hold their outputs. */
function hasOutput({ output }: Item): boolean {
  return output !== undefined;
}

/** Whether calls before this item and calls after it are not parallel. */
export function endsRound(item: Pick<Item, 'type'> & JsonObject): boolean {
  return isCallOutput(item) || (item.role !== undefined && item.role !== 'assistant');
}

/** The calls of one id that are parallel. */
interface Round<Call> {
  readonly round: number;
  readonly whole: Call[];
  readonly truncated: Call[];
  taken: number;
}

/** Calls without an output. Ids recur in later turns, and some models give parallel calls one id. */
export class WaitingCalls<Call> {
  private readonly rounds = new Map<unknown, Round<Call>[]>();
  private round = 0;

  endRound(): void {
    this.round += 1;
  }

  add(id: unknown, call: Call, isTruncated: boolean): void {
    const rounds = this.rounds.get(id) ?? [];
    this.rounds.set(id, rounds);
    let last = rounds.at(-1);
    if (last?.round !== this.round) {
      last = { round: this.round, whole: [], truncated: [], taken: 0 };
      rounds.push(last);
    }
    (isTruncated ? last.truncated : last.whole).push(call);
  }

  /**
   * Takes the first call of this id of the newest round that has one, a truncated one last, since it needs no output.
   * Outputs of parallel calls come in their order.
   */
  take(id: unknown): Call | undefined {
    const rounds = this.rounds.get(id);
    const last = rounds?.at(-1);
    if (!rounds || !last) return undefined;
    const { whole, truncated, taken } = last;
    last.taken += 1;
    if (last.taken === whole.length + truncated.length) rounds.pop();
    return taken < whole.length ? whole[taken] : truncated[taken - whole.length];
  }

  left(): readonly Call[] {
    const all = [...this.rounds.values()].flat();
    return all.flatMap(({ whole, truncated, taken }) => [...whole, ...truncated].slice(taken));
  }
}

/** The unanswered call with this id; none for a second answer to the same call. */
function takeCall(open: WaitingCalls<Item>, answered: Set<unknown>, output: Item, paired: Item[]): Item | undefined {
  const id = answeredId(output);
  const call = open.take(id);
  if (!call && answered.has(id)) return undefined;
  answered.add(id);
  if (call) return call;
  if (typeof output.name !== 'string') throw callNotFound(output);
  const missing = { type: 'function_call', call_id: output.call_id, name: output.name, arguments: argumentsOf(output) };
  paired.push(missing);
  return missing;
}

function argumentsOf(output: Item): string {
  return typeof output.arguments === 'string' ? output.arguments : '{}';
}

function outputMissing({ call_id: id }: Item): ApiError {
  return new ApiError('tool_output_missing', `No tool output found for function call ${printedId(id)}.`, {
    param: 'input',
  });
}

function callNotFound(output: Item): ApiError {
  const id = answeredId(output);
  const message = `No tool call found for function call output with call_id ${printedId(id)}.`;
  return new ApiError('tool_call_not_found', message, { param: 'input' });
}

/**
 * What the client has to answer in the output of a response: its calls, and requests for its approval. Calls of functions
 * that the server ran have their output beside them.
 */
export function owedByClient(output: readonly Item[]): readonly Item[] {
  const answered = new Set(output.filter(isCallOutput).map((item) => item.call_id));
  return output.filter((item) => {
    if (item.type === 'mcp_approval_request') return true;
    return isClientsCall(item) && !answered.has(item.call_id);
  });
}

/** The calls of functions and of custom tools among them. */
export function openCalls({ status, output }: JsonObject): readonly Item[] {
  if (status !== 'completed' || !Array.isArray(output)) return [];
  const items = output.filter((item): item is Item => isRecord(item));
  return owedByClient(items).filter(({ type }) => CALLS.has(type));
}

const CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call']);
