/** The calls that were running when their process was lost: whether they run again. */

import type { RoundCall } from '../ports/tool-rounds.ts';
import type { Toolset } from '../ports/toolset.ts';
import type { ToolCallResult } from '../protocol/items.ts';
import { INTERNAL_ERROR, protocolError } from '../protocol/tool-calls/call-error.ts';

const LOST =
  'The server that ran this tool was lost before the result was stored. It is not run again, since it may have taken effect.';
const INTERRUPTED: ToolCallResult = { output: LOST, failed: true, error: protocolError(INTERNAL_ERROR, LOST) };

/**
 * Runs calls as before, except for those that `wasRunning`: they fail, unless their tool says by an `idempotentHint` or
 * `readOnlyHint` that running it twice does no harm.
 */
export function withoutRepeats<Call extends RoundCall>(
  runCall: (call: Call) => Promise<ToolCallResult>,
  toolset: Toolset,
  wasRunning: (call: Call) => boolean,
): (call: Call) => Promise<ToolCallResult> {
  return async (call) => (wasRunning(call) && !isRepeatable(toolset, call.name) ? INTERRUPTED : runCall(call));
}

function isRepeatable(toolset: Toolset, name: string): boolean {
  const { idempotentHint, readOnlyHint } = toolset.get(name)?.tool.annotations ?? {};
  return idempotentHint === true || readOnlyHint === true;
}
