/** The tools of the servers that a request names, and its terms for those that the host has. */
import type { Call } from '../../../ports/api-request.ts';
import { noteOf, type PrepareSettings } from '../../../ports/prepare.ts';
import type { Offer, OfferedTool } from '../../../ports/toolset.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { listTools } from '../../../tools/toolset.ts';
import { type ServerEntry, serverEntries } from './server-entries.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The tools of one request: those that the client named, its own by name, and those of the host's providers. */
export interface GivenServers {
  readonly named: readonly Fields[];
  readonly own: ReadonlyMap<string, { readonly form: { readonly namespace?: string } }>;
  readonly hosted: readonly OfferedTool[];
}

/** The host's tools and those of the servers that the request names, on its terms. Throws `ApiError`. */
export async function withNamedServers(
  call: Call,
  { named, own, hosted }: GivenServers,
  settings: PrepareSettings,
): Promise<readonly OfferedTool[]> {
  const entries = serverEntries(named, labelsOf(hosted), settings);
  if (entries.length === 0) return hosted;
  refuseNamesakes(own);
  const opened = await Promise.all(entries.map((entry) => toolsOf(entry, call, settings)));
  const tools = onTerms([...hosted, ...opened.flat()], entries);
  for (const entry of entries) refuseEmpty(entry, tools);
  return tools;
}

/** The tools that are on offer already, on the terms that the client has for the host's servers. Throws `ApiError`. */
export function onTermsOf(named: readonly Fields[], offer: Offer): Offer {
  const entries = serverEntries(named, labelsOf([...offer.values()]), {});
  return new Map([...offer].flatMap(([name, tool]) => onTerms([tool], entries).map((kept) => [name, kept] as const)));
}

function labelsOf(tools: readonly OfferedTool[]): ReadonlySet<string> {
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
  call: Call,
  settings: PrepareSettings,
): Promise<readonly OfferedTool[]> {
  if (!remote || !settings.remoteMcp) return [];
  const provider = await settings.remoteMcp.open(remote, call.scope, call.signal);
  const tools = await listTools([provider], call.signal, noteOf(call, settings));
  return tools.map((tool) => ({ ...tool, url: remote.url }));
}

function onTerms(tools: readonly OfferedTool[], entries: readonly ServerEntry[]): readonly OfferedTool[] {
  const terms = new Map(entries.map((entry) => [entry.label, entry]));
  return tools
    .filter(({ tool }) => terms.get(tool.server)?.allows(tool) ?? true)
    .map((each) => (terms.get(each.tool.server)?.needsApproval(each.tool) ? { ...each, needsApproval: true } : each));
}

function refuseEmpty({ label, param, isFiltered }: ServerEntry, tools: readonly OfferedTool[]): void {
  if (!isFiltered || tools.some(({ tool }) => tool.server === label)) return;
  const message = `'allowed_tools' leaves no tool of the server '${label}'.`;
  throw new ApiError('invalid_value', message, { param: `${param}.allowed_tools` });
}
