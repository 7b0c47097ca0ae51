/** Runs the calls of one request and reports each to the host. */

import { notify, type Reports } from '../../ports/hooks.ts';
import type { Limits } from '../../ports/limits.ts';
import type { ToolProgress } from '../../ports/tool-provider.ts';
import type { Toolset } from '../../ports/toolset.ts';
import { dataURL } from '../../protocol/images.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { CODE_INTERPRETER } from '../../protocol/tool-calls/code-interpreter-call.ts';
import { servedType } from '../../protocol/tool-calls/kinds.ts';
import type { ProgramRuns } from '../programs/program-runs.ts';
import type { EndpointRequest } from '../request/endpoint-request.ts';
import type { RoundCall } from '../turn/machine/tool-rounds.ts';
import type { RunCall } from './rounds.ts';
import { runCall } from './run-call.ts';
import type { Workspaces } from './workspace.ts';

/** The context of one request's calls. */
interface RunnerTools {
  readonly toolset: Toolset;
  readonly workspaces: Workspaces;
  /** The images of the conversation before this turn, if a tool needs them. */
  readonly images: (() => readonly string[]) | undefined;
  /** The request's own tools. */
  readonly tools: readonly JsonObject[];
  /** What runs the model's programs; undefined if it may write none. */
  readonly programs?: ProgramRuns | undefined;
}

/** The limits of each call, and the hooks that report it to the host. */
interface RunnerSettings {
  readonly limits: Limits;
  readonly hooks: Reports;
}

/** Rejects only with the signal's reason. */
export function toolRunner(
  { toolset, workspaces, images: earlier, tools, programs }: RunnerTools,
  { scope, requestId, request }: EndpointRequest,
  { limits, hooks }: RunnerSettings,
  signal: AbortSignal,
): RunCall<RoundCall> {
  const made: string[] = [];
  const images = earlier && (() => [...earlier(), ...made]);
  const context = { scope, requestId, request, images, limits, signal };
  return async (call, onPartialImage) => {
    const { name, arguments: text } = call;
    const began = Date.now();
    const entry = toolset.get(name);
    const { server = '', name: own = name, protocol } = entry?.tool ?? {};
    const called = { requestId, scope, server, name: own, ...(protocol ? { protocol } : {}) };
    const info = () => ({ ...called, durationMs: Date.now() - began });
    const onProgress = (progress: ToolProgress) => notify(hooks, 'onToolProgress', { ...info(), ...progress });
    const requestedBy = entry?.tool.requestedBy;
    // The request's own entry for a tool that requests enable by its type.
    const settings = requestedBy === undefined ? undefined : tools.find((tool) => servedType(tool) === requestedBy);
    const workspace = workspaces.get(requestedBy) ?? workspaces.get(CODE_INTERPRETER);
    const outcome = programs?.runs(name)
      ? await programs.run(call)
      : await runCall(entry, text, {
          ...context,
          ...(workspace ? { workspace } : {}),
          ...{ settings, onProgress, onPartialImage },
        });
    if (outcome.calls) return outcome;
    const { failed, output, image } = outcome;
    if (image) made.push(dataURL(image.result, image.details.output_format));
    // Only then: an image has megabytes.
    const error = failed ? (typeof output === 'string' ? output : JSON.stringify(output)) : undefined;
    notify(hooks, 'onToolCall', { ...info(), error });
    return outcome;
  };
}
