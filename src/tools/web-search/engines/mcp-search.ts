/** Any tool of a provider as a search engine, such as one of an MCP server. */
import type { SearchEngine } from '../../../ports/hosted-tools/search-engine.ts';
import type { ProvidedTool, ToolProvider } from '../../../ports/tool-provider.ts';
import type { WebResult } from '../../../protocol/items.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, plainText } from '../../../protocol/record.ts';
import { toolOutputText } from '../../../protocol/tool-calls/results/output-text.ts';
import { MAX_BYTES } from './fetch-json.ts';

/** How the tool is called; `undefined` means omitted. */
export interface McpSearchOptions {
  /** The argument that takes the words. Default: `query`. */
  readonly argument?: string | undefined;
  /** Further arguments of each call. Default: none. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  /** The server of the tool, where several have one of that name. Default: the first. */
  readonly server?: string | undefined;
}

const MAX_ERROR_LENGTH = 1000;

/**
 * An engine that calls a tool of this provider, such as `mcpTools({ servers })`, which need not be in the option `tools`. JSON with
 * a list of results that have a `url` is read as such; of other texts the model receives all, and may cite every address in it.
 * Without addresses of their own, results are left out where a request limits the domains.
 */
export function mcpSearch(provider: ToolProvider, toolName: string, options: McpSearchOptions = {}): SearchEngine {
  if (typeof provider?.call !== 'function')
    throw new TypeError(`mcpSearch: the provider must be a ToolProvider, got ${typeof provider}`);
  if (typeof toolName !== 'string' || toolName === '')
    throw new TypeError(`mcpSearch: the tool's name must be text, got ${JSON.stringify(toolName)}`);
  return {
    name: provider.name,
    async search({ query, maxResults, signal, about }) {
      const tools = await provider.list(signal, about);
      const isWanted = ({ server }: ProvidedTool) => options.server === undefined || server === options.server;
      const tool = tools.find((each) => each.name === toolName && isWanted(each));
      if (!tool) throw new Error(`The search engine ${provider.name} has no tool '${toolName}' now.`);
      const { server, name } = tool;
      const args = { ...options.arguments, [options.argument ?? 'query']: query };
      const call = { ...about, server, name, arguments: args, outputBytes: MAX_BYTES };
      const { content, isError } = await provider.call(call, signal);
      const text = toolOutputText(content);
      if (isError) throw new Error(text.slice(0, MAX_ERROR_LENGTH));
      const list = resultsFromJson(text);
      if (list) return list;
      return text.trim() === '' ? [] : [{ text }, ...addressesInText(text, maxResults)];
    },
    close: provider.close && (() => provider.close?.() ?? Promise.resolve()),
  };
}

/** The results of a list of objects with addresses in JSON; undefined for other texts. */
function resultsFromJson(text: string): readonly WebResult[] | undefined {
  const json = jsonIn(text);
  for (const list of isRecord(json) ? Object.values(json) : [json]) {
    if (!Array.isArray(list)) continue;
    const results = list.filter(isRecord).map((each) => {
      const { url, link, href, title, name, text: body, content, snippet, description } = each;
      return {
        url: plainText(url ?? link ?? href),
        title: plainText(title ?? name),
        text: plainText(body ?? content ?? snippet ?? description),
      };
    });
    if (results.some(({ url }) => url !== '')) return results;
  }
  return undefined;
}

function addressesInText(text: string, max: number): readonly WebResult[] {
  const addresses = new Set<string>();
  for (const [address] of text.matchAll(/https?:\/\/[^\s<>"'`\])}]{1,2000}/g)) {
    if (addresses.size >= max) break;
    addresses.add(address.replace(/[.,;:!?]$/, ''));
  }
  return [...addresses].map((url) => ({ url, text: '' }));
}
