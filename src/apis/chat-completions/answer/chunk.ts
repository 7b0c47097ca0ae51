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
  return recordsIn(chunk.choices).flatMap(({ delta }) => {
    if (!isRecord(delta)) return [];
    const { tool_calls: calls, function_call: called } = delta;
    return isRecord(called) && !Array.isArray(calls) ? [{ function: called }] : recordsIn(calls);
  });
}

/** Whether the chunk has such an entry. */
export function hasCallEntry(chunk: JsonObject): boolean {
  return someDelta(chunk, hasCalls);
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
 * The parts of a chunk in the order in which its calls begin. A chunk of one entry, or with anything but the choice that is
 * read, has one part.
 */
export function chunkParts(
  chunk: JsonObject,
  choice: JsonObject | undefined,
  entries: readonly NumberedEntry[],
): readonly ChunkPart[] {
  const whole = wholePart(chunk, choice);
  const [first] = entries;
  if (!choice || !isOnly(chunk, choice) || !first) return [whole];
  const { delta } = choice;
  if (!isRecord(delta) || !hasCalls(delta)) return [whole];
  const { isOutput: hasText, isEnd } = whole;
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
  if (hasText) parts.unshift({ chunk: withDelta(rest, ownChoice), call: undefined, isOutput: true, isEnd: false });
  if (isEnd || usage)
    parts.push({ chunk: { ...chunk, choices: [{ ...bare, delta: {} }] }, call: undefined, isOutput: false, isEnd });
  return parts;
}

/** The chunk as one part that is no call's. */
export function wholePart(chunk: JsonObject, choice: JsonObject | undefined): ChunkPart {
  const isEnd = Boolean(choice?.finish_reason) && isOnly(chunk, choice);
  return { chunk, call: undefined, isOutput: someDelta(chunk, hasOutput), isEnd };
}

/** Whether the chunk has no other choice. */
function isOnly({ choices }: JsonObject, choice: JsonObject | undefined): boolean {
  return Array.isArray(choices) && choices.length === 1 && choices[0] === choice;
}

/** Whether the delta holds output besides calls. */
function hasOutput(delta: JsonObject): boolean {
  for (const name in delta) {
    const value = delta[name];
    if (value !== undefined && value !== null && value !== '' && !NO_OUTPUT.has(name)) return true;
  }
  return false;
}

function hasCalls(delta: JsonObject): boolean {
  return Boolean(delta.tool_calls || delta.function_call);
}

/** Whether the delta of one of the choices matches, without a list of them: every chunk is looked at. */
export function someDelta({ choices }: JsonObject, matches: (delta: JsonObject) => boolean): boolean {
  if (!Array.isArray(choices)) return false;
  for (const choice of choices) if (isRecord(choice) && isRecord(choice.delta) && matches(choice.delta)) return true;
  return false;
}

const NO_OUTPUT: ReadonlySet<string> = new Set(['role', 'tool_calls', 'function_call']);

/** Whether a call may begin here whose name is not certainly complete until more of it arrives. */
export function mayBeginCall(entry: CallEntry): boolean {
  const { id, function: called } = entry;
  return Boolean(id || called?.name) && !customCallIn(entry) && !called?.arguments;
}
