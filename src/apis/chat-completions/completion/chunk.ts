/** Inspects a single chunk, without merging it with the chunks before it. */

import { customOf } from '../../../protocol/chat-completions/tool-calls.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';

/** A piece of a call, in the API's own format. */
interface CallPiece {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | undefined;
  readonly custom?: unknown;
}

/** The pieces of calls in the chunk; a legacy call is one without a number. */
export function callPieces(chunk: JsonObject): readonly CallPiece[] {
  return deltasIn(chunk).flatMap(({ tool_calls: calls, function_call: called }) => {
    if (Array.isArray(calls)) return calls.filter(isRecord);
    return isRecord(called) ? [{ function: called }] : [];
  });
}

/** An entry of a call as it came, and the decoder's number for its call. */
export interface CallEntry {
  readonly call: number;
  readonly entry: JsonObject;
  /** Its arguments, or the input of a custom tool, which has any form. */
  readonly text: string;
  readonly isFree: boolean;
}

/** What an entry adds to the arguments of its call. */
export function entryText(entry: JsonObject): Pick<CallEntry, 'text' | 'isFree'> {
  const custom = customOf(entry);
  const called = isRecord(entry.function) ? entry.function.arguments : undefined;
  const given = custom ? custom.input : called;
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? '');
  return { text: given ? text : '', isFree: custom !== undefined };
}

/** A part of a chunk: one entry of a call, or everything else; the last one ends the answer if the chunk does. */
export interface ChunkPart {
  readonly chunk: JsonObject;
  readonly entry?: CallEntry;
  readonly isEnd?: boolean;
}

/** Whether the chunk holds one entry of a call, and nothing else that a client would read in an order. */
export function isOneEntry(chunk: JsonObject, entries: readonly CallEntry[]): boolean {
  if (entries.length !== 1 || chunk.usage) return false;
  const [{ delta = {}, finish_reason: finish }] = choicesIn(chunk) as readonly [JsonObject];
  return !finish && isRecord(delta) && !Object.entries(delta).some(isOutput);
}

/** The parts of a chunk in the order in which they are read. A chunk with anything but one choice has one part. */
export function chunkParts(chunk: JsonObject, entries: readonly CallEntry[]): readonly ChunkPart[] {
  const choices = choicesIn(chunk);
  const [choice] = choices;
  if (choices.length !== 1 || !choice || (choice.index ?? 0) !== 0) return [{ chunk }];
  const { delta, finish_reason: finish } = choice;
  const { tool_calls: calls, function_call: called, ...rest } = isRecord(delta) ? delta : {};
  const isEnd = Boolean(finish);
  if (entries.length === 0 || !(calls || called)) return [{ chunk, isEnd }];
  const { usage, ...plain } = chunk;
  const { logprobs: _, ...bare } = choice;
  const part = (own: JsonObject, base: JsonObject = bare) => ({
    ...plain,
    choices: [{ ...base, delta: own, finish_reason: null }],
  });
  const { role } = rest;
  const texts = Object.entries(rest).some(isOutput) ? [{ chunk: part(rest, choice) }] : [];
  const named = role === undefined ? {} : { role };
  const pieces = entries.map((each) => {
    const { entry } = each;
    const own = calls ? { tool_calls: [entry] } : { function_call: called };
    return { chunk: part({ ...named, ...own }), entry: each };
  });
  const end = isEnd || usage ? [{ chunk: { ...chunk, choices: [{ ...bare, delta: {} }] }, isEnd }] : [];
  return [...texts, ...pieces, ...end];
}

/** Whether the chunk holds output besides calls. */
export function hasOutput(chunk: JsonObject): boolean {
  return deltasIn(chunk).some((delta) => Object.entries(delta).some(isOutput));
}

/** Whether the field of a delta is output besides calls. */
function isOutput([name, value]: readonly [string, unknown]): boolean {
  return !NO_OUTPUT.has(name) && value !== undefined && value !== null && value !== '';
}

const NO_OUTPUT: ReadonlySet<string> = new Set(['role', 'tool_calls', 'function_call']);

/** Whether a call may begin here whose name is not certainly complete until more of it arrives. */
export function mayBeginCall(piece: CallPiece): boolean {
  const { id, function: called } = piece;
  return Boolean(id || called?.name) && !customOf(piece) && !called?.arguments;
}

/** Whether the chunk carries only the usage. */
export function isUsageOnly({ choices, usage }: JsonObject): boolean {
  return Boolean(usage) && Array.isArray(choices) && choices.length === 0;
}

/** Whether the chunk names the role. */
export function hasRole(chunk: JsonObject): boolean {
  return deltasIn(chunk).some(({ role }) => role);
}

function deltasIn(chunk: JsonObject): readonly JsonObject[] {
  return choicesIn(chunk)
    .map(({ delta }) => delta)
    .filter(isRecord);
}

function choicesIn({ choices }: JsonObject): readonly JsonObject[] {
  return Array.isArray(choices) ? choices.filter(isRecord) : [];
}
