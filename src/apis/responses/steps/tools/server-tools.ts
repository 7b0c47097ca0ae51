/** The tools of the servers that a request names, and its terms for the host's servers. */

import type { EndpointRequest } from '../../../../engine/request/endpoint-request.ts';
import { listTools } from '../../../../engine/tools/toolset.ts';
import type { Toolset, ToolsetEntry } from '../../../../ports/toolset.ts';
import { ApiError } from '../../../../protocol/errors.ts';
import type { JsonObject } from '../../../../protocol/record.ts';
import { PROGRAMS } from '../../../../protocol/tool-calls/program-call.ts';
import { noteReporter, type PrepareSettings } from '../../../endpoint/prepare.ts';
import { type ServerEntry, serverEntries } from './server-entries.ts';

/** The tools of one request: those that the client named, its own by name, and those of the host's providers. */
interface RequestedTools {
  readonly named: readonly JsonObject[];
  readonly own: ReadonlyMap<string, { readonly form: { readonly namespace?: string } }>;
  readonly hosted: readonly ToolsetEntry[];
}

/** The host's tools and those of the servers that the request names, on its terms. Throws `ApiError`. */
export async function withNamedServers(
  request: EndpointRequest,
  { named, own, hosted }: RequestedTools,
  settings: PrepareSettings,
): Promise<readonly ToolsetEntry[]> {
  const { remoteMcp } = settings;
  const entries = serverEntries(named, serverLabels(hosted), { remoteMcp, runsPrograms: runPrograms(hosted) });
  if (entries.length === 0) return hosted;
  for (const [name, { form }] of own) {
    if (!name.startsWith('mcp__') || form.namespace !== undefined) continue;
    const message = `Invalid tool '${name}': beside tools of type 'mcp', names that begin with 'mcp__' are theirs.`;
    throw new ApiError('invalid_value', message, { param: 'tools' });
  }
  const opened = await Promise.all(entries.map((entry) => openServer(entry, request, settings)));
  const tools = onClientTerms([...hosted, ...opened.flat()], entries);
  for (const { label, param, isFiltered } of entries) {
    if (!isFiltered || tools.some(({ tool }) => tool.server === label)) continue;
    const message = `'allowed_tools' leaves no tool of the server '${label}'.`;
    throw new ApiError('invalid_value', message, { param: `${param}.allowed_tools` });
  }
  return tools;
}

/** The tools that are already offered, on the client's terms for the host's servers. Throws `ApiError`. */
export function toolsetOnTerms(named: readonly JsonObject[], toolset: Toolset): Toolset {
  const tools = [...toolset.values()];
  const entries = serverEntries(named, serverLabels(tools), { runsPrograms: runPrograms(tools) });
  return new Map(
    [...toolset].flatMap(([name, tool]) => onClientTerms([tool], entries).map((entry) => [name, entry] as const)),
  );
}

/** Whether one of the tools runs the model's programs. */
function runPrograms(tools: readonly ToolsetEntry[]): boolean {
  return tools.some(({ tool }) => tool.requestedBy === PROGRAMS);
}

/** The labels of the servers, and whether requests may name each: one tool that they may not name is enough. */
function serverLabels(tools: readonly ToolsetEntry[]): ReadonlyMap<string, boolean> {
  const labels = new Map<string, boolean>();
  for (const { tool } of tools)
    labels.set(tool.server, (labels.get(tool.server) ?? true) && tool.requestsMayName !== false);
  return labels;
}

async function openServer(
  { remote }: ServerEntry,
  request: EndpointRequest,
  settings: PrepareSettings,
): Promise<readonly ToolsetEntry[]> {
  if (!remote || !settings.remoteMcp) return [];
  const provider = await settings.remoteMcp.open(remote, request.scope, request.signal);
  const tools = await listTools([provider], request.signal, noteReporter(request, settings));
  return tools.map((tool) => ({ ...tool, url: remote.url }));
}

function onClientTerms(tools: readonly ToolsetEntry[], entries: readonly ServerEntry[]): readonly ToolsetEntry[] {
  const termsByLabel = new Map(entries.map((entry) => [entry.label, entry]));
  return tools.flatMap((entry) => {
    const { tool } = entry;
    const terms = termsByLabel.get(tool.server);
    if (!terms) return [entry];
    if (!terms.allows(tool)) return [];
    const deferred = terms.defers(tool) ?? false;
    const approved: ToolsetEntry = terms.needsApproval(tool) ? { ...entry, needsApproval: true } : entry;
    const withApproval = terms.programs ? { ...approved, programs: terms.programs } : approved;
    // Else the same object, by which the search knows the tool's words.
    if (deferred === (tool.deferred ?? false)) return [withApproval];
    return [{ ...withApproval, tool: { ...tool, deferred } }];
  });
}
