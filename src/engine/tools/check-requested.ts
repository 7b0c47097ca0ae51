/** Holds the tools that a request enables against its entries for them, before the model is called. */

import type { ProvidedTool, ToolProvider } from '../../ports/tool-provider.ts';
import type { ToolsetEntry } from '../../ports/toolset.ts';
import type { Note } from '../../protocol/note.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { isCalledByModels, isCalledByPrograms, unsupportedTerms } from '../../protocol/responses/hosted-terms.ts';
import { servedType } from '../../protocol/tool-calls/kinds.ts';
import { PROGRAMS } from '../../protocol/tool-calls/program-call.ts';
import { guardAdded } from '../guarding/request/guarded-body.ts';
import type { RequestGuards } from '../guarding/request/request-guards.ts';
import type { EndpointRequest } from '../request/endpoint-request.ts';

/**
 * The tools that keep to what the request forbids; the others are noted. Of several entries of a type only the first has an
 * effect, and is checked by the provider. What a provider tells the model of such an entry is the client's, such as the descriptions of
 * skills that it brings: the guards of the request, which are looked for only then, read it. Throws what the provider throws, and
 * `content_filter`.
 */
export async function checkRequested<Entry extends ToolsetEntry>(
  entries: readonly Entry[],
  tools: readonly JsonObject[],
  { scope, requestId, request }: EndpointRequest,
  note: (note: Note) => void,
  findGuards: () => RequestGuards | undefined = () => undefined,
): Promise<readonly Entry[]> {
  const within = withinTerms(entries, tools, note);
  const runsPrograms = within.some(({ tool }) => tool.requestedBy === PROGRAMS);
  const allowed = runsPrograms ? within.map((entry) => withCallers(entry, tools)) : within;
  const checked = new Set<ToolProvider>();
  for (const { provider, tool } of allowed) {
    if (!provider.check || tool.requestedBy === undefined || checked.has(provider)) continue;
    checked.add(provider);
    const { settings, param } = entryFor(tool, tools);
    if (settings) await provider.check(settings, { scope, requestId, request }, param);
  }
  if (!allowed.some(({ provider }) => provider.about)) return allowed;
  return Promise.all(
    allowed.map(async (entry) => {
      const { provider, tool } = entry;
      const { settings, param } = provider.about ? entryFor(tool, tools) : NO_ENTRY;
      const told = settings && (await provider.about?.(settings, { scope, requestId, request }, param));
      const guards = told ? findGuards() : undefined;
      const about = told && guards ? await guardAdded(told, param, guards) : told;
      return about ? { ...entry, tool: { ...tool, description: `${tool.description ?? ''}\n${about}` } } : entry;
    }),
  );
}

const NO_ENTRY = { settings: undefined, param: 'tools' };

function entryFor({ requestedBy }: ProvidedTool, tools: readonly JsonObject[]) {
  const at = requestedBy === undefined ? -1 : tools.findIndex((tool) => servedType(tool) === requestedBy);
  return { settings: tools[at], param: `tools[${at}]` };
}

/** The tool with what its entry says of the model's programs, which may call it as a tool of any other type. */
function withCallers<Entry extends ToolsetEntry>(entry: Entry, tools: readonly JsonObject[]): Entry {
  const { requestedBy } = entry.tool;
  if (requestedBy === undefined) return entry;
  const settings = tools.find((each) => servedType(each) === requestedBy);
  return settings && isCalledByPrograms(settings)
    ? { ...entry, programs: isCalledByModels(settings) ? 'also' : 'only' }
    : entry;
}

/** Where a request has several entries of one type, what any of them forbids is forbidden. */
function withinTerms<Entry extends ToolsetEntry>(
  entries: readonly Entry[],
  tools: readonly JsonObject[],
  note: (note: Note) => void,
): readonly Entry[] {
  const requested = new Map<unknown, JsonObject[]>();
  for (const tool of tools) {
    const type = servedType(tool);
    requested.set(type, [...(requested.get(type) ?? []), tool].slice(-MAX_ENTRIES));
  }
  const runsPrograms = entries.some(({ tool }) => tool.requestedBy === PROGRAMS);
  return entries.filter((entry) => {
    const { requestedBy } = entry.tool;
    const all = requestedBy === undefined ? [] : (requested.get(requestedBy) ?? []);
    const objection = all
      .map((settings) => readObjection(entry, settings, runsPrograms))
      .find((text) => text !== undefined);
    if (objection !== undefined)
      note({ code: 'tool_dropped', message: `${objection}; '${entry.tool.name}' is not offered.` });
    return objection === undefined;
  });
}

/** Entries of one type that are looked at; clients send one. */
const MAX_ENTRIES = 16;

function readObjection(
  { provider, tool }: ToolsetEntry,
  settings: JsonObject,
  runsPrograms: boolean,
): string | undefined {
  const [unkept] = unsupportedTerms(settings, runsPrograms);
  if (unkept !== undefined) return `Nothing here keeps to '${unkept.slice(0, MAX_FIELD)}' of the request's tool`;
  if (provider.objection) return provider.objection(settings, tool);
  const isForbidding = settings.external_web_access === false;
  return isForbidding ? `'external_web_access' is false, and '${provider.name}' does not say that it obeys` : undefined;
}

/** The most characters of a field's name in a note. */
const MAX_FIELD = 64;
