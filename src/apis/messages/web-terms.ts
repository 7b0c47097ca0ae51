/** The terms of Anthropic's two web tools, of which each has its own: the sites that it may use, and how often. */

import type { ToolProvider } from '../../ports/tool-provider.ts';
import type { Toolset, ToolsetEntry } from '../../ports/toolset.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { isRestricting } from '../../protocol/responses/hosted-terms.ts';
import { OPEN_PAGE, WEB_SEARCH } from '../../protocol/tool-calls/web-search-call.ts';

const SEARCHES = 'web_search';
const FETCHES = 'web_fetch';

/** The tool of the Responses API; `name` says which of Anthropic's two it stands for. */
export function webTool(name: string, tool: JsonObject): JsonObject {
  const { allowed_domains: allowed, blocked_domains: blocked, user_location: location, max_uses: uses } = tool;
  const filters = {
    ...(allowed ? { allowed_domains: allowed } : {}),
    ...(blocked ? { blocked_domains: blocked } : {}),
  };
  const own = { ...(location ? { user_location: location } : {}), ...(uses === undefined ? {} : { max_uses: uses }) };
  return { ...otherTerms(tool), type: WEB_SEARCH, name, filters, ...own };
}

/** What else restricts one of Anthropic's tools: whoever offers it here sees whether it can be kept. */
export function otherTerms(tool: JsonObject): JsonObject {
  const terms = Object.entries(tool).filter(([field]) => isRestricting(field) && !RENAMED.has(field));
  return Object.fromEntries(terms);
}

const RENAMED: ReadonlySet<string> = new Set(['allowed_domains', 'blocked_domains', 'max_uses']);

/**
 * The toolset with each web tool under the client's terms for it. Who searches may open what was found; who only
 * fetches does not search.
 */
export function onWebTerms(toolset: Toolset, tools: readonly JsonObject[]): Toolset {
  const findTerms = (kind: string) => tools.find(({ type, name }) => type === WEB_SEARCH && name === kind);
  const [searching, fetching] = [findTerms(SEARCHES), findTerms(FETCHES)];
  if (!searching && !fetching) return toolset;
  const entries = [...toolset].flatMap(([name, entry]): readonly (readonly [string, ToolsetEntry])[] => {
    if (entry.tool.requestedBy !== WEB_SEARCH) return [[name, entry]];
    if (entry.tool.name !== OPEN_PAGE) return searching ? [[name, withUseLimit(entry, searching)]] : [];
    return [[name, withUseLimit(entry, fetching ?? { ...searching, max_uses: undefined })]];
  });
  return new Map(entries);
}

/** The model's names for the tools that stand for one of Anthropic's two. */
export function webToolNames(toolset: Toolset, kind: string): readonly string[] {
  const ofWeb = [...toolset].filter(([, { tool }]) => tool.requestedBy === WEB_SEARCH);
  return ofWeb.flatMap(([modelName, { tool }]) =>
    (tool.name === OPEN_PAGE) === (kind === FETCHES) ? [modelName] : [],
  );
}

function withUseLimit(entry: ToolsetEntry, terms: JsonObject): ToolsetEntry {
  const { provider } = entry;
  const maxUses = typeof terms.max_uses === 'number' ? terms.max_uses : Number.POSITIVE_INFINITY;
  let uses = 0;
  const own: ToolProvider = {
    name: provider.name,
    list: (signal, request) => provider.list(signal, request),
    async call(call, signal) {
      uses += 1;
      if (uses > maxUses) throw new Error(`max_uses_exceeded: this tool may be used ${maxUses} times in one request.`);
      return provider.call({ ...call, settings: terms }, signal);
    },
  };
  return { ...entry, provider: own };
}
