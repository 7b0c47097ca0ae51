/** The tools that an MCP client may call: those of the host, by the names under which models are offered them. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { readApprovalRules } from '../../engine/tools/approval-rules.ts';
import { checkRequested } from '../../engine/tools/check-requested.ts';
import { listTools, namedTools, requestedTypes } from '../../engine/tools/toolset.ts';
import { type ApprovalRules, listedTool, type Toolset, type ToolsetEntry } from '../../ports/toolset.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { noteReporter } from '../endpoint/prepare.ts';
import type { McpSettings } from './settings.ts';

/** The tools of one request, and which of them need the user's approval. */
export interface OfferedTools {
  readonly toolset: Toolset;
  readonly approvalRules: ApprovalRules;
}

/** A provider that fails, and a hosted tool that the tenant cannot use, are noted and left out. Throws `HostError` if the host's functions throw. */
export async function offeredTools(
  request: EndpointRequest,
  { host, toolsOf, hostedTools }: Pick<McpSettings, 'host' | 'toolsOf' | 'hostedTools'>,
  signal: AbortSignal,
): Promise<OfferedTools> {
  const note = noteReporter(request, host);
  const providers = toolsOf(request.request);
  const listed = await listTools(providers, signal, note, requestedTypes(hostedTools), request);
  const usable: ToolsetEntry[] = [];
  for (const entry of listed) {
    try {
      usable.push(...(await checkRequested([entry], hostedTools, request, note)));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      note({ code: 'tool_dropped', message: `'${entry.tool.name}' is not offered: ${error.message}` });
    }
  }
  // All are listed, so that no search for deferred ones is needed.
  const toolset = new Map([...namedTools(usable, new Set(), note)].filter(([, { search }]) => !search));
  return { toolset, approvalRules: readApprovalRules(toolset, request, host.approval) };
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/** A tool as MCP lists it. What a client could refuse makes it refuse the whole list, so only what the protocol knows is passed on. */
export function toMcpTool(name: string, { tool }: ToolsetEntry) {
  const { description, input_schema: schema, annotations } = listedTool(tool);
  const hints: JsonObject = isRecord(annotations) ? annotations : {};
  const known = Object.entries(hints).filter(
    ([hint, value]) =>
      (HINTS.includes(hint) && typeof value === 'boolean') || (hint === 'title' && typeof value === 'string'),
  );
  return {
    name,
    ...(description ? { description } : {}),
    inputSchema: { properties: {}, ...schema, type: 'object' as const },
    ...(known.length > 0 ? { annotations: Object.fromEntries(known) } : {}),
  };
}
