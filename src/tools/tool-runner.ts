/** Runs the calls of one request and tells the host of each. */

import type { Call } from '../ports/api-request.ts';
import { type Hooks, tell } from '../ports/hooks.ts';
import type { Limits } from '../ports/limits.ts';
import type { Workspace } from '../ports/tool-provider.ts';
import type { RoundCall } from '../ports/tool-rounds.ts';
import type { Offer } from '../ports/toolset.ts';
import type { CallOutcome } from '../protocol/events.ts';
import { runCall } from './run-call.ts';

/** What one request's calls are run with. */
export interface RunnerTools {
  readonly offer: Offer;
  readonly workspace: Workspace | undefined;
}

/** What bounds each call, and whom the host has told of it. */
export interface RunnerSettings {
  readonly limits: Limits;
  readonly hooks: Hooks;
}

/** Rejects only with the signal's reason. */
export function toolRunner(
  { offer, workspace }: RunnerTools,
  { scope, requestId, request }: Call,
  { limits, hooks }: RunnerSettings,
  signal: AbortSignal,
): (call: RoundCall) => Promise<CallOutcome> {
  const about = { scope, requestId, request, ...(workspace ? { workspace } : {}) };
  return async ({ name, arguments: text }) => {
    const began = Date.now();
    const offered = offer.get(name);
    const outcome = await runCall(offered, text, { ...about, limits, signal });
    const { failed, output } = outcome;
    const said = typeof output === 'string' ? output : JSON.stringify(output);
    const error = failed ? said : undefined;
    const { server = '', name: own = name } = offered?.tool ?? {};
    tell(hooks, 'onToolCall', { requestId, scope, server, name: own, durationMs: Date.now() - began, error });
    return outcome;
  };
}
