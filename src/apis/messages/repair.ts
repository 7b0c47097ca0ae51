/** Repairs messages: roles alternate, and each call of a tool has one result in the message after it. */

import { type Found, NO_OUTPUT, type Repaired, repairLog } from '../../engine/history/repair.ts';
import { quoteId } from '../../protocol/ids.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';

/** A message with its content as a list, and its place in the client's own. */
interface Entry {
  readonly role: unknown;
  readonly content: readonly JsonObject[];
  readonly message: JsonObject;
  readonly index: number;
}

/** A result, and the message that it was found in. */
interface FoundResult {
  readonly block: JsonObject;
  readonly index: number;
}

/**
 * The messages as model servers accept them, and the repairs that were made. Where they `continue` a thread, results before
 * the first answer are of calls that only the thread has.
 */
export function repairTurns(messages: readonly unknown[], continues = false): Repaired<unknown> {
  const { repairs: all, found } = repairLog('messages');
  const entries = mergeRoles(
    messages.flatMap((message, index) => readTurn(message, index, found)),
    found,
  );
  const firstAnswer = continues ? entries.findIndex(({ role }) => role === 'assistant') : 0;
  const own = firstAnswer < 0 ? entries.length : firstAnswer;
  const repaired = [...entries.slice(0, own), ...withResults(entries.slice(own), found)];
  const answered = repaired.filter(({ role, content, index }, at, list) => {
    const isPrefill = role === 'assistant' && at === list.length - 1;
    if (content.length > 0 || isPrefill) return true;
    found('empty_message', index, 'a message must have content.');
    return false;
  });
  const repairs = all();
  const list = repairs.length === 0 ? messages : answered.map(({ message, content }) => ({ ...message, content }));
  return { list, places: answered.map(({ index }) => index), repairs };
}

function readTurn(message: unknown, index: number, found: Found): readonly Entry[] {
  if (!isRecord(message) || typeof message.role !== 'string') {
    found('not_a_message', index, 'it must be an object with a role.');
    return [];
  }
  const { role, content } = message;
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const list = recordsIn(blocks);
  return [
    { role, message, index, content: list.flatMap((block, at) => repairBlock(block, `${index}_${at}`, index, found)) },
  ];
}

function repairBlock(block: JsonObject, place: string, index: number, found: Found): readonly JsonObject[] {
  if (block.type === 'text' && !block.text) {
    found('empty_message', index, 'a text must not be empty.');
    return [];
  }
  if (block.type !== 'tool_use') return [block];
  const { id, name, input } = block;
  if (typeof name !== 'string' || name === '') {
    found('empty_name', index, 'a call must name its tool.');
    return [];
  }
  const isKnown = typeof id === 'string' && id !== '';
  if (!isKnown) found('missing_id', index, `the call of ${quoteId(name)} has no id.`);
  if (!isRecord(input)) found('bad_arguments', index, `the input of ${quoteId(name)} is not an object.`);
  return [{ ...block, id: isKnown ? id : `toolu_${place}`, input: isRecord(input) ? input : {} }];
}

/** Consecutive messages of one role, merged. */
function mergeRoles(entries: readonly Entry[], found: Found): readonly Entry[] {
  const runs: Entry[][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    if (run && run[0]?.role === entry.role) {
      found('split_message', entry.index, 'it follows another message of its role.');
      run.push(entry);
    } else runs.push([entry]);
  }
  // The cast: no run is empty.
  return runs.map((run) => ({ ...(run[0] as Entry), content: run.flatMap(({ content }) => content) }));
}

function withResults(entries: readonly Entry[], found: Found): readonly Entry[] {
  const results = resultsByCall(entries);
  const answered = entries.flatMap((entry, at) => {
    const { role } = entry;
    if (role !== 'assistant')
      return role === 'user' && entries[at - 1]?.role === 'assistant' ? [] : [withoutResults(entry)];
    // Nothing may stand between a call and its result, a message of the system neither.
    const next = entries[at + 1]?.role === 'user' ? entries[at + 1] : undefined;
    const calls = withUniqueIds(entry, found);
    const answers = calls.flatMap(({ block, sentId }) =>
      block.type === 'tool_use' ? [takeResult({ ...block, sentId }, entry, next, results, found)] : [],
    );
    const withIds = { ...entry, content: calls.map(({ block }) => block) };
    if (next) return [withIds, { ...next, content: [...answers, ...withoutResults(next).content] }];
    const added: Entry = { role: 'user', message: { role: 'user' }, index: -1, content: answers };
    return answers.length > 0 ? [withIds, added] : [withIds];
  });
  for (const [id, left] of results)
    for (const { index } of left)
      found('orphan_output', index, `no tool call with the id ${quoteId(id ?? '')} stands before it.`);
  return answered;
}

/** The blocks, of which no two have one id; the client's results have the id that was sent. */
function withUniqueIds({ content, index }: Entry, found: Found) {
  const seen = new Set<unknown>();
  return content.map((block, at) => {
    const { id } = block;
    if (block.type !== 'tool_use' || !seen.has(id)) {
      seen.add(id);
      return { block, sentId: id };
    }
    found('missing_id', index, `another call has the id ${quoteId(id)}, too.`);
    return { block: { ...block, id: `toolu_${index}_again_${at}` }, sentId: id };
  });
}

/** In reverse order, so that the next one is taken from the end. */
function resultsByCall(entries: readonly Entry[]): Map<unknown, FoundResult[]> {
  const results = new Map<unknown, FoundResult[]>();
  for (const { content, index } of entries.toReversed())
    for (const block of content.toReversed()) {
      if (block.type !== 'tool_result') continue;
      const list = results.get(block.tool_use_id);
      if (list) list.push({ block, index });
      else results.set(block.tool_use_id, [{ block, index }]);
    }
  return results;
}

function takeResult(
  { id, sentId, name }: JsonObject,
  { index }: Entry,
  next: Entry | undefined,
  results: Map<unknown, FoundResult[]>,
  found: Found,
): JsonObject {
  const list = results.get(sentId) ?? [];
  for (let result = list.pop(); result; result = list.pop()) {
    if (result.index < index)
      found('orphan_output', result.index, `no tool call with the id ${quoteId(id)} stands before it.`);
    else {
      if (result.index !== next?.index)
        found('misplaced_output', result.index, `it must follow the tool call ${quoteId(id)}.`);
      return id === sentId ? result.block : { ...result.block, tool_use_id: id };
    }
  }
  found('missing_output', index, `the tool call ${quoteId(id)} of ${quoteId(name)} has no result.`);
  return { type: 'tool_result', tool_use_id: id, content: NO_OUTPUT };
}

function withoutResults(entry: Entry): Entry {
  return { ...entry, content: entry.content.filter(({ type }) => type !== 'tool_result') };
}
