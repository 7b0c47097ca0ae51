/** Inspects a single chunk, without merging it with the chunks before it. */

import { customCallIn } from '../../../protocol/chat-completions/tool-calls.ts';
import { isRecord, type JsonObject, recordsIn } from '../../../protocol/record.ts';

/** An entry of a call in a chunk, in the API's own format. */
interface CallEntry {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | undefined;
  readonly custom?: unknown;
}

/** The entries of calls in the chunk; a legacy call is one without a number. */
export function callEntries(chunk: JsonObject): readonly CallEntry[] {
  return chunkDeltas(chunk).flatMap(({ tool_calls: calls, function_call: called }) => {
    if (Array.isArray(calls)) return calls.filter(isRecord);
    return isRecord(called) ? [{ function: called }] : [];
  });
}

/** An entry of a call as it came, and the decoder's number for its call. */
export interface NumberedEntry {
  readonly call: number;
  readonly entry: JsonObject;
}

/** A part of a chunk: the entries of one call, or everything else; the last one ends the answer if the chunk does. */
export interface ChunkPart {
  readonly chunk: JsonObject;
  readonly call: number | undefined;
  readonly isOutput: boolean;
  readonly isEnd: boolean;
}

/**
 * The parts of a chunk in the order in which its calls begin. A chunk of one entry, or with anything but one choice, has one
 * part.
 */
export function chunkParts(chunk: JsonObject, entries: readonly NumberedEntry[]): readonly ChunkPart[] {
  const choices = recordsIn(chunk.choices);
  const [choice] = choices;
  const [first] = entries;
  const hasText = hasChunkOutput(chunk);
  if (choices.length !== 1 || !choice || (choice.index ?? 0) !== 0) return [otherPart(chunk, hasText, false)];
  const { delta, finish_reason: finish } = choice;
  const isEnd = Boolean(finish);
  if (!first || !isRecord(delta) || !(delta.tool_calls || delta.function_call))
    return [otherPart(chunk, hasText, isEnd)];
  if (entries.length === 1 && !hasText && !isEnd && !chunk.usage)
    return [{ chunk, call: first.call, isOutput: true, isEnd: false }];
  const { tool_calls: calls, function_call: called, ...rest } = delta;
  const { usage, ...plain } = chunk;
  // Some servers repeat the delta as a message, which holds the calls of all parts.
  const { message: _, ...ownChoice } = choice;
  const { logprobs: __, ...bare } = ownChoice;
  const withDelta = (own: JsonObject, base: JsonObject = bare) => ({
    ...plain,
    choices: [{ ...base, delta: own, finish_reason: null }],
  });
  const role = rest.role === undefined ? {} : { role: rest.role };
  const byCall = new Map<number, JsonObject[]>();
  for (const { call, entry } of entries) {
    const known = byCall.get(call);
    if (known) known.push(entry);
    else byCall.set(call, [entry]);
  }
  const parts = Array.from(byCall, ([call, own]): ChunkPart => {
    const ofCall = withDelta({ ...role, ...(calls ? { tool_calls: own } : { function_call: called }) });
    return { chunk: ofCall, call, isOutput: true, isEnd: false };
  });
  if (hasText) parts.unshift(otherPart(withDelta(rest, ownChoice), true, false));
  if (isEnd || usage) parts.push(otherPart({ ...chunk, choices: [{ ...bare, delta: {} }] }, false, isEnd));
  return parts;
}

function otherPart(chunk: JsonObject, isOutput: boolean, isEnd: boolean): ChunkPart {
  return { chunk, call: undefined, isOutput, isEnd };
}

/** Whether the chunk holds output besides calls. */
function hasChunkOutput(chunk: JsonObject): boolean {
  for (const delta of chunkDeltas(chunk)) {
    for (const name in delta) {
      const value = delta[name];
      if (value !== undefined && value !== null && value !== '' && !NO_OUTPUT.has(name)) return true;
    }
  }
  return false;
}

const NO_OUTPUT: ReadonlySet<string> = new Set(['role', 'tool_calls', 'function_call']);

/** Whether a call may begin here whose name is not certainly complete until more of it arrives. */
export function mayBeginCall(entry: CallEntry): boolean {
  const { id, function: called } = entry;
  return Boolean(id || called?.name) && !customCallIn(entry) && !called?.arguments;
}

/** The deltas of the chunk's choices. */
export function chunkDeltas({ choices }: JsonObject): readonly JsonObject[] {
  const deltas: JsonObject[] = [];
  if (!Array.isArray(choices)) return deltas;
  for (const choice of choices) if (isRecord(choice) && isRecord(choice.delta)) deltas.push(choice.delta);
  return deltas;
}
