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

function deltasIn({ choices }: JsonObject): readonly JsonObject[] {
  const list: readonly unknown[] = Array.isArray(choices) ? choices : [];
  return list.map((choice) => (isRecord(choice) ? choice.delta : undefined)).filter(isRecord);
}
