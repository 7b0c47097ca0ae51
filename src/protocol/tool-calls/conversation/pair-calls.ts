/** Matches outputs with tool calls: the one place that checks that a conversation's calls and outputs fit together. */
import { ApiError } from '../../errors.ts';
import { modelCallOfItem, toPrintableId } from '../../ids.ts';
import type { Item } from '../../items.ts';
import { isRecord, type JsonObject } from '../../record.ts';
import { answeredId, isCallOutput, isClientAnswer, isClientAnsweredCall, isClientCall, writtenKind } from '../kinds.ts';

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
  if (!items.some((item) => isClientAnsweredCall(item) || isCallOutput(item) || isToolSearch(item)))
    return { items, outputs: new Map() };
  const searches = pairSearches(items.filter((item) => !isAlone(item)));
  const searchOutputs = new Set(searches.values());
  const open = new WaitingCalls<Item>();
  const outputs = new Map(searches);
  const answeredIds = new Set<unknown>();
  const paired: Item[] = [];
  for (const item of items) {
    if (isAlone(item)) {
      paired.push(item);
      continue;
    }
    // The calls of the running turn hold their outputs.
    const isWholeSearch = searches.has(item) || searchOutputs.has(item) || item.output !== undefined;
    if (isToolSearch(item) && !isWholeSearch) continue;
    if (isCallOutput(item) && !searchOutputs.has(item)) {
      const id = answeredId(item);
      let call = open.take(id);
      // A second answer to the same call is for none, nor is one of this server's own whose call the client has deleted.
      const isOwn = modelCallOfItem(String(item.id)) !== undefined;
      if (!call && !answeredIds.has(id) && !isOwn) {
        call = impliedCall(item, id);
        paired.push(call);
      }
      answeredIds.add(id);
      if (call) outputs.set(call, item);
    }
    if (isClientAnsweredCall(item)) open.add(item.call_id, item, isCutOff(item));
    else if (endsRound(item)) open.endRound();
    paired.push(item);
  }
  const unanswered = new Set(open.left());
  for (const call of unanswered) {
    // What this server ran has no output where the model was stopped in the middle of its next call.
    if (isCutOff(call) || writtenKind(call)?.runBy === 'server') continue;
    const message = `No tool output found for function call ${toPrintableId(call.call_id)}.`;
    throw new ApiError('tool_output_missing', message, { param: 'input' });
  }
  return { items: paired.filter((item) => !unanswered.has(item)), outputs };
}

function isToolSearch({ type }: Item): boolean {
  return type === 'tool_search_call' || type === 'tool_search_output';
}

/**
 * The outputs of searches for tools. Those of a server have no ids, and follow their calls in the same order, before the
 * user's next message; a call or an output alone is left out.
 */
function pairSearches(items: readonly Item[]): ReadonlyMap<Item, Item> {
  const pairs = new Map<Item, Item>();
  let waiting = new Map<unknown, { readonly calls: Item[]; answered: number }>();
  for (const item of items) {
    if (item.type === 'message' && item.role === 'user') waiting = new Map();
    // A client may answer its own search as if it were a call of a function.
    const isAnswer = item.type === 'function_call_output' && waiting.has(item.call_id);
    if (!isToolSearch(item) && !isAnswer) continue;
    const queue = waiting.get(item.call_id ?? null) ?? { calls: [], answered: 0 };
    waiting.set(item.call_id ?? null, queue);
    const call = queue.calls[queue.answered];
    if (item.type === 'tool_search_call') {
      if (item.output === undefined) queue.calls.push(item);
    } else if (call) {
      pairs.set(call, item);
      queue.answered += 1;
    }
  }
  return pairs;
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

/** The call that an output brings along by naming its tool. */
function impliedCall({ name, call_id: callId, arguments: text }: Item, id: unknown): Item {
  if (typeof name === 'string')
    return { type: 'function_call', call_id: callId, name, arguments: typeof text === 'string' ? text : '{}' };
  const message = `No tool call found for function call output with call_id ${toPrintableId(id)}.`;
  throw new ApiError('tool_call_not_found', message, { param: 'input' });
}

/**
 * What the client has to answer in the output of a response: its calls, and requests for its approval. Calls of functions
 * that the server ran have their output beside them.
 */
export function pendingClientCalls(output: readonly Item[]): readonly Item[] {
  const answered = new Set(output.filter(isClientAnswer).map(answeredId));
  return output.filter((item) => {
    if (item.type === 'mcp_approval_request') return true;
    return isClientCall(item) && !answered.has(item.call_id);
  });
}

/** The calls of functions and of custom tools among them. */
export function openCalls({ status, output }: JsonObject): readonly Item[] {
  if (status !== 'completed' || !Array.isArray(output)) return [];
  const items = output.filter((item): item is Item => isRecord(item));
  return pendingClientCalls(items).filter(({ type }) => CALLS.has(type));
}

const CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call']);
