/** The calls of tools that the server runs, with their arguments and results guarded. */

import type { InnerCall, PartialImage, ToolCallResult } from '../../protocol/items.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, protocolError } from '../../protocol/tool-calls/results/call-error.ts';
import type { RoundCall } from '../turn/machine/tool-rounds.ts';
import { GuardBlocked } from './guard/guard-context.ts';
import type { RequestGuards } from './request/request-guards.ts';
import { PIECE } from './texts/positions.ts';
import { mapTexts } from './texts/walk.ts';

/** Runs one call; rejects only when the turn is aborted. */
type RunCall = (call: RoundCall, onPartialImage?: (image: PartialImage) => void) => Promise<ToolCallResult>;

/** A blocked call fails with an error that the model reads; so does one whose result is blocked. */
export function guardedCalls(run: RunCall, guards: RequestGuards, signal: AbortSignal): RunCall {
  return async (call, onPartialImage) => {
    try {
      const text = await guards.tool(call.arguments, 'tool-arguments', call.name);
      const result = await run({ ...call, arguments: text }, onPartialImage);
      if (result.calls) return await guardedInner(result, result.calls, guards);
      return await guardResult(result, call, guards);
    } catch (error) {
      signal.throwIfAborted();
      const isBlocked = error instanceof GuardBlocked;
      const message = isBlocked ? `Not allowed by this server's policy. ${error.reason}`.trim() : FAILED;
      const code = isBlocked ? INVALID_PARAMS : INTERNAL_ERROR;
      return { output: message, failed: true, error: protocolError(code, message) };
    }
  };
}

/**
 * What a program calls is the model's output, as what the model calls itself. It is blocked where a guard would change it: the program must
 * make the same calls whenever it runs again. Calls of the server are guarded as such, too, when they run.
 */
async function guardedInner(
  result: ToolCallResult,
  calls: readonly InnerCall[],
  guards: RequestGuards,
): Promise<ToolCallResult> {
  if (!guards.guardsOutput) return result;
  for (const { name, arguments: text } of calls) {
    if ((await guards.output(text, name)) !== text)
      throw new GuardBlocked(`The arguments of '${name}' may not be sent.`);
  }
  return result;
}

/**
 * Images are not inspected, and the tools that a search has found are the host's own. An error is guarded as an answer is
 * too: clients are shown it.
 */
async function guardResult(
  { image, found, ...result }: ToolCallResult,
  { name }: RoundCall,
  guards: RequestGuards,
): Promise<ToolCallResult> {
  // The casts: texts are replaced by texts.
  let guarded = result;
  if (guards.guardsTools) {
    const map = (text: string) => guards.tool(text, 'tool-result', name);
    guarded = (await mapTexts(result, name, PIECE, { map })) as typeof result;
  }
  if (guards.guardsOutput && (guarded.failed || guarded.error)) {
    const map = (text: string) => guards.output(text, 'error');
    guarded = (await mapTexts(guarded, name, PIECE, { map })) as typeof result;
  }
  return { ...guarded, ...(image ? { image } : {}), ...(found ? { found } : {}) };
}

const FAILED = "A check of this server's policy failed, so the call was not made or its result is withheld.";
