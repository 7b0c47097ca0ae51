/** The calls that were running when their process was lost: whether they run again. */

import type { Toolset } from '../../ports/toolset.ts';
import type { ToolCallResult } from '../../protocol/items.ts';
import { INTERNAL_ERROR, protocolError } from '../../protocol/tool-calls/results/call-error.ts';
import type { RoundCall } from '../turn/machine/tool-rounds.ts';
import type { RunCall } from './rounds.ts';

const LOST =
  'The server that ran this tool was lost before the result was stored. It is not run again, since it may have taken effect.';
const INTERRUPTED: ToolCallResult = { output: LOST, failed: true, error: protocolError(INTERNAL_ERROR, LOST) };

/**
 * Runs calls as before, except for those that `wasRunning`: they fail, unless their tool declares by an `idempotentHint` or
 * `readOnlyHint` that running it twice does no harm.
 */
export function withoutRepeats<Call extends RoundCall>(
  runCall: RunCall<Call>,
  toolset: Toolset,
  wasRunning: (call: Call) => boolean,
): RunCall<Call> {
  return async (call, onPartialImage) => {
    const { idempotentHint, readOnlyHint } = toolset.get(call.name)?.tool.annotations ?? {};
    const isRepeatable = idempotentHint === true || readOnlyHint === true;
    return wasRunning(call) && !isRepeatable ? INTERRUPTED : runCall(call, onPartialImage);
  };
}
