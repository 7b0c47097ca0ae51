/** The tools of the servers that a request names, and its terms for the host's servers. */

import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { listTools } from '../../../engine/tools/toolset.ts';
import type { Toolset, ToolsetEntry } from '../../../ports/toolset.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import { noteOf, type PrepareSettings } from '../../endpoint/prepare.ts';
import { type ServerEntry, serverEntries } from './server-entries.ts';

/** The tools of one request: those that the client named, its own by name, and those of the host's providers. */
interface GivenServers {
  readonly named: readonly JsonObject[];
  readonly own: ReadonlyMap<string, { readonly form: { readonly namespace?: string } }>;
  readonly hosted: readonly ToolsetEntry[];
}

/** The host's tools and those of the servers that the request names, on its terms. Throws `ApiError`. */
export async function withNamedServers(
  request: EndpointRequest,
  { named, own, hosted }: GivenServers,
  settings: PrepareSettings,
): Promise<readonly ToolsetEntry[]> {
  const entries = serverEntries(named, labelsOf(hosted), settings);
  if (entries.length === 0) return hosted;
  refuseNamesakes(own);
  const opened = await Promise.all(entries.map((entry) => toolsOf(entry, request, settings)));
  const tools = onTerms([...hosted, ...opened.flat()], entries);
  for (const entry of entries) refuseEmpty(entry, tools);
  return tools;
}

/** The tools that are already offered, on the client's terms for the host's servers. Throws `ApiError`. */
export function onTermsOf(named: readonly JsonObject[], toolset: Toolset): Toolset {
  const entries = serverEntries(named, labelsOf([...toolset.values()]), {});
  return new Map([...toolset].flatMap(([name, tool]) => onTerms([tool], entries).map((kept) => [name, kept] as const)));
}

function labelsOf(tools: readonly ToolsetEntry[]): ReadonlySet<string> {
  return new Set(tools.map(({ tool }) => tool.server));
}

/** The names that tools of servers may have. */
function refuseNamesakes(own: GivenServers['own']): void {
  for (const [name, { form }] of own) {
    if (!name.startsWith('mcp__') || form.namespace !== undefined) continue;
    const message = `Invalid tool '${name}': beside tools of type 'mcp', names that begin with 'mcp__' are theirs.`;
    throw new ApiError('invalid_value', message, { param: 'tools' });
  }
}

async function toolsOf(
  { remote }: ServerEntry,
  request: EndpointRequest,
  settings: PrepareSettings,
): Promise<readonly ToolsetEntry[]> {
  if (!remote || !settings.remoteMcp) return [];
  const provider = await settings.remoteMcp.open(remote, request.scope, request.signal);
  const tools = await listTools([provider], request.signal, noteOf(request, settings));
  return tools.map((tool) => ({ ...tool, url: remote.url }));
}

function onTerms(tools: readonly ToolsetEntry[], entries: readonly ServerEntry[]): readonly ToolsetEntry[] {
  const terms = new Map(entries.map((entry) => [entry.label, entry]));
  return tools
    .filter(({ tool }) => terms.get(tool.server)?.allows(tool) ?? true)
    .map((each) => withTerms(each, terms.get(each.tool.server)));
}

function withTerms(entry: ToolsetEntry, terms: ServerEntry | undefined): ToolsetEntry {
  if (!terms) return entry;
  const { tool } = entry;
  const deferred = terms.defers(tool) ?? false;
  const asked: ToolsetEntry = terms.needsApproval(tool) ? { ...entry, needsApproval: true } : entry;
  // Else the same object, by which the search knows the tool's words.
  return deferred === (tool.deferred ?? false) ? asked : { ...asked, tool: { ...tool, deferred } };
}

function refuseEmpty({ label, param, isFiltered }: ServerEntry, tools: readonly ToolsetEntry[]): void {
  if (!isFiltered || tools.some(({ tool }) => tool.server === label)) return;
  const message = `'allowed_tools' leaves no tool of the server '${label}'.`;
  throw new ApiError('invalid_value', message, { param: `${param}.allowed_tools` });
}
