/** Repairs messages: roles alternate, and each call of a tool has one result in the message after it. */

import { type Found, NO_OUTPUT, type Repaired, repairLog } from '../../engine/history/repair.ts';
import { quotedId } from '../../protocol/ids.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** A message with its content as a list, and its place in the client's own. */
interface Entry {
  readonly role: unknown;
  readonly content: readonly JsonObject[];
  readonly message: JsonObject;
  readonly index: number;
}

/** A result, and the message that it was found in. */
interface Placed {
  readonly block: JsonObject;
  readonly index: number;
}

/** The messages as model servers accept them, and the repairs that were made. */
export function repairTurns(messages: readonly unknown[]): Repaired<unknown> {
  const { repairs: all, found } = repairLog('messages');
  const entries = merged(
    messages.flatMap((message, index) => readable(message, index, found)),
    found,
  );
  const answered = withResults(entries, found).filter(notEmpty(found));
  const repairs = all();
  const list = repairs.length === 0 ? messages : answered.map(({ message, content }) => ({ ...message, content }));
  return { list, places: answered.map(({ index }) => index), repairs };
}

function readable(message: unknown, index: number, found: Found): readonly Entry[] {
  if (!isRecord(message) || typeof message.role !== 'string') {
    found('not_a_message', index, 'it must be an object with a role.');
    return [];
  }
  const { role, content } = message;
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const list = Array.isArray(blocks) ? blocks.filter(isRecord) : [];
  return [
    { role, message, index, content: list.flatMap((block, at) => wholeBlock(block, `${index}_${at}`, index, found)) },
  ];
}

function wholeBlock(block: JsonObject, place: string, index: number, found: Found): readonly JsonObject[] {
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
  if (!isKnown) found('missing_id', index, `the call of ${quotedId(name)} has no id.`);
  if (!isRecord(input)) found('bad_arguments', index, `the input of ${quotedId(name)} is not an object.`);
  return [{ ...block, id: isKnown ? id : `toolu_${place}`, input: isRecord(input) ? input : {} }];
}

/** Consecutive messages of one role, merged. */
function merged(entries: readonly Entry[], found: Found): readonly Entry[] {
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
  const results = resultsIn(entries);
  const answered = entries.flatMap((entry, at) => {
    if (entry.role !== 'assistant') return at > 0 && entries[at - 1]?.role === 'assistant' ? [] : [spoken(entry)];
    const next = entries[at + 1];
    const calls = withOwnIds(entry, found);
    const answers = calls.flatMap(({ block, sentId }) =>
      block.type === 'tool_use' ? [resultOf({ ...block, sentId }, entry, next, results, found)] : [],
    );
    const asked = { ...entry, content: calls.map(({ block }) => block) };
    if (!next) return answers.length > 0 ? [asked, filledIn(answers)] : [asked];
    return [asked, { ...next, content: [...answers, ...spoken(next).content] }];
  });
  for (const [id, left] of results)
    for (const { index } of left)
      found('orphan_output', index, `no tool call with the id ${quotedId(id ?? '')} stands before it.`);
  return answered;
}

/** The blocks, of which no two have one id; the client's results have the id that was sent. */
function withOwnIds({ content, index }: Entry, found: Found) {
  const seen = new Set<unknown>();
  return content.map((block, at) => {
    const { id } = block;
    if (block.type !== 'tool_use' || !seen.has(id)) {
      seen.add(id);
      return { block, sentId: id };
    }
    found('missing_id', index, `another call has the id ${quotedId(id)}, too.`);
    return { block: { ...block, id: `toolu_${index}_again_${at}` }, sentId: id };
  });
}

/** In reverse order, so that the next one is taken from the end. */
function resultsIn(entries: readonly Entry[]): Map<unknown, Placed[]> {
  const results = new Map<unknown, Placed[]>();
  for (const { content, index } of entries.toReversed())
    for (const block of content.toReversed()) {
      if (block.type !== 'tool_result') continue;
      const list = results.get(block.tool_use_id);
      if (list) list.push({ block, index });
      else results.set(block.tool_use_id, [{ block, index }]);
    }
  return results;
}

function resultOf(
  { id, sentId, name }: JsonObject,
  { index }: Entry,
  next: Entry | undefined,
  results: Map<unknown, Placed[]>,
  found: Found,
): JsonObject {
  const list = results.get(sentId) ?? [];
  for (let placed = list.pop(); placed; placed = list.pop()) {
    if (placed.index < index)
      found('orphan_output', placed.index, `no tool call with the id ${quotedId(id)} stands before it.`);
    else {
      if (placed.index !== next?.index)
        found('misplaced_output', placed.index, `it must follow the tool call ${quotedId(id)}.`);
      return id === sentId ? placed.block : { ...placed.block, tool_use_id: id };
    }
  }
  found('missing_output', index, `the tool call ${quotedId(id)} of ${quotedId(name)} has no result.`);
  return { type: 'tool_result', tool_use_id: id, content: NO_OUTPUT };
}

function spoken(entry: Entry): Entry {
  return { ...entry, content: entry.content.filter(({ type }) => type !== 'tool_result') };
}

function filledIn(content: readonly JsonObject[]): Entry {
  return { role: 'user', message: { role: 'user' }, index: -1, content };
}

function notEmpty(found: Found): (entry: Entry, at: number, all: readonly Entry[]) => boolean {
  return ({ role, content, index }, at, all) => {
    const isPrefill = role === 'assistant' && at === all.length - 1;
    if (content.length > 0 || isPrefill) return true;
    found('empty_message', index, 'a message must have content.');
    return false;
  };
}
