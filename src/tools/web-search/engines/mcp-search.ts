/** Any tool of a provider as a search engine, such as one of an MCP server. */
import type { SearchEngine } from '../../../ports/hosted-tools/search-engine.ts';
import type { ProvidedTool, ToolProvider, ToolResult, ToolsRequest } from '../../../ports/tool-provider.ts';
import type { WebResult } from '../../../protocol/items.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../../protocol/record.ts';
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
      const { server, name } = await toolOf(provider, toolName, options, about, signal);
      const args = { ...options.arguments, [options.argument ?? 'query']: query };
      const call = { ...about, server, name, arguments: args, outputBytes: MAX_BYTES };
      return resultsIn(await provider.call(call, signal), maxResults);
    },
    close: provider.close && (() => provider.close?.() ?? Promise.resolve()),
  };
}

async function toolOf(
  provider: ToolProvider,
  name: string,
  { server }: McpSearchOptions,
  about: ToolsRequest,
  signal: AbortSignal,
): Promise<ProvidedTool> {
  const tools = await provider.list(signal, about);
  const tool = tools.find((each) => each.name === name && (server === undefined || each.server === server));
  if (!tool) throw new Error(`The search engine ${provider.name} has no tool '${name}' now.`);
  return tool;
}

function resultsIn({ content, isError }: ToolResult, maxResults: number): readonly WebResult[] {
  const text = toolOutputText(content);
  if (isError) throw new Error(text.slice(0, MAX_ERROR_LENGTH));
  const listed = listIn(text);
  if (listed) return listed.map(resultOf);
  return text.trim() === '' ? [] : [{ text }, ...addressesIn(text, maxResults)];
}

const MAX_ERROR_LENGTH = 1000;

/** The list of objects with addresses in JSON; undefined for other texts. */
function listIn(text: string): readonly JsonObject[] | undefined {
  const value = jsonIn(text);
  const lists = isRecord(value) ? Object.values(value) : [value];
  const list = lists.find((each) => Array.isArray(each) && each.some((one) => isRecord(one) && addressOf(one) !== ''));
  return Array.isArray(list) ? list.filter(isRecord) : undefined;
}

function addressOf({ url, link, href }: JsonObject): string {
  return plainTextOf(url ?? link ?? href);
}

function resultOf(each: JsonObject): WebResult {
  const { title, name, text, content, snippet, description } = each;
  return {
    url: addressOf(each),
    title: plainTextOf(title ?? name),
    text: plainTextOf(text ?? content ?? snippet ?? description),
  };
}

function addressesIn(text: string, most: number): readonly WebResult[] {
  const found = new Set<string>();
  for (const [address] of text.matchAll(/https?:\/\/[^\s<>"'`\])}]{1,2000}/g)) {
    if (found.size >= most) break;
    found.add(address.replace(/[.,;:!?]$/, ''));
  }
  return [...found].map((url) => ({ url, text: '' }));
}
