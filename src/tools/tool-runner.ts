/** Runs the calls of one request and reports each to the host. */

import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { notify, type Reports } from '../ports/hooks.ts';
import type { Limits } from '../ports/limits.ts';
import type { ToolProgress, Workspace } from '../ports/tool-provider.ts';
import type { RoundCall } from '../ports/tool-rounds.ts';
import type { Toolset, ToolsetEntry } from '../ports/toolset.ts';
import type { ToolCallResult } from '../protocol/items.ts';
import type { JsonObject } from '../protocol/record.ts';
import { requestedType } from '../protocol/tool-calls/tool-names.ts';
import { runCall } from './run-call.ts';

/** The context of one request's calls. */
interface RunnerTools {
  readonly toolset: Toolset;
  readonly workspace: Workspace | undefined;
  /** The request's own tools. */
  readonly tools: readonly JsonObject[];
}

/** The limits of each call, and the hooks that report it to the host. */
export interface RunnerSettings {
  readonly limits: Limits;
  readonly hooks: Reports;
}

/** Rejects only with the signal's reason. */
export function toolRunner(
  { toolset, workspace, tools }: RunnerTools,
  { scope, requestId, request }: EndpointRequest,
  { limits, hooks }: RunnerSettings,
  signal: AbortSignal,
): (call: RoundCall) => Promise<ToolCallResult> {
  const about = { scope, requestId, request, ...(workspace ? { workspace } : {}) };
  return async ({ name, arguments: text }) => {
    const began = Date.now();
    const entry = toolset.get(name);
    const { server = '', name: own = name } = entry?.tool ?? {};
    const info = () => ({ requestId, scope, server, name: own, durationMs: Date.now() - began });
    const onProgress = (progress: ToolProgress) => notify(hooks, 'onToolProgress', { ...info(), ...progress });
    const terms = settingsFor(entry, tools);
    const outcome = await runCall(entry, text, { ...about, ...terms, limits, signal, onProgress });
    const { failed, output } = outcome;
    const outputText = typeof output === 'string' ? output : JSON.stringify(output);
    const error = failed ? outputText : undefined;
    notify(hooks, 'onToolCall', { ...info(), error });
    return outcome;
  };
}

/** The request's terms for a tool that it enables. */
function settingsFor(entry: ToolsetEntry | undefined, tools: readonly JsonObject[]) {
  const requestedBy = entry?.tool.requestedBy;
  if (requestedBy === undefined) return {};
  return { settings: tools.find(({ type }) => requestedType(type) === requestedBy) };
}
