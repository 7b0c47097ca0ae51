/** A web search: this server runs it as a tool, or the model's own server has run it, and it is only shown. */
import type { OutputItem, ToolCallResult, WebAction, WebResult, WebSearchCallItem } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { isRecord, type JsonObject, plainText } from '../record.ts';
import type { ShownCall, ToolCallKind, WrittenToolCallKind } from './kind.ts';
import { toolOutputText } from './results/output-text.ts';

/** The model's name for searching the web, the label of both tools for it, and the type by which requests enable them. */
export const WEB_SEARCH = 'web_search';

/** The model's name for reading a page. */
export const OPEN_PAGE = 'open_page';

/** `web_search_call` of the model's own server. */
export const upstreamSearchCall: ToolCallKind & { readonly type: 'web_search_call' } = {
  type: 'web_search_call',
  idPrefix: 'ws',
  runBy: 'upstream',
};

/** `web_search_call` of this server, which has `results`. */
export const webSearchCall: WrittenToolCallKind & { readonly type: 'web_search_call' } = {
  type: 'web_search_call',
  tool: WEB_SEARCH,
  keptTerms: [
    'external_web_access',
    'filters.allowed_domains',
    'filters.blocked_domains',
    'max_content_tokens',
    'max_uses',
  ],
  toolAliases: ['web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11'],
  idPrefix: 'ws',
  runBy: 'server',
  field: 'arguments',
  // A failed call has no event of its own: its item has the status.
  states: { opened: 'in_progress', running: 'searching', completed: 'completed' },
  // Results and sources of our searches are for clients that ask for them; without results a program whose client keeps the conversation itself could not go on.
  shown: ({ results, action, ...rest }, { has }) => {
    const { sources, ...others }: JsonObject = isRecord(action) ? action : {};
    const shownAction = isRecord(action) && sources !== undefined && !has('action.sources') ? others : action;
    return { ...rest, action: shownAction, ...(has('results') || rest.caller !== undefined ? { results } : {}) };
  },
  upstreamKind: ({ results }) => (results === undefined ? upstreamSearchCall : undefined),
  item: (call, status) => webSearchItem(call, status === 'incomplete' ? 'failed' : status, null),
  finished: (call, { output, failed, results }: ToolCallResult) =>
    webSearchItem(call, failed ? 'failed' : 'completed', results ?? [{ text: toolOutputText(output) }]),
  answered(item) {
    const { call_id: id, name, action, output, results, status } = item;
    // Others' searches have no results, and no name of a tool that this server offers.
    if (!Array.isArray(results) && name === undefined) return undefined;
    return {
      id: id ?? undefined,
      name: name ?? actionTool(action),
      arguments: JSON.stringify(actionArguments(action)),
      output: output ?? resultsText(results),
      failed: status === 'failed',
    };
  },
  lacksResult: (item) => !Array.isArray(item.results) && item.encrypted_content === undefined,
  // The cast: this server has written them.
  citable: ({ results }) => ({ pages: (results ?? []) as readonly WebResult[] }),
  modelName(item, names) {
    if (item.encrypted_content !== undefined) return undefined;
    const name = names.of(WEB_SEARCH, actionTool(item.action)) ?? names.serving(WEB_SEARCH);
    return name ?? (Array.isArray(item.results) ? actionTool(item.action) : undefined);
  },
};

/** A search of the model's own server that has not ended. */
export function isOpenUpstreamSearch(item: OutputItem): item is WebSearchCallItem {
  return item.type === upstreamSearchCall.type && item.results === undefined && item.status === 'in_progress';
}

function webSearchItem(
  { id, arguments: text }: ShownCall,
  status: WebSearchCallItem['status'],
  results: WebSearchCallItem['results'],
): WebSearchCallItem {
  return {
    id,
    type: 'web_search_call',
    status,
    action: readAction(objectIn(text) ?? {}, results ?? []),
    results: results ?? null,
  };
}

/** What the arguments of a call mean; an empty search while they are not complete. */
function readAction({ query, url, find }: JsonObject, results: readonly WebResult[]): WebAction {
  if (typeof url === 'string') {
    const pattern = plainText(find);
    return pattern === '' ? { type: 'open_page', url } : { type: 'find_in_page', url, pattern };
  }
  const words = plainText(query);
  const sources = results.flatMap((each) => (each.url === undefined ? [] : [{ type: 'url' as const, url: each.url }]));
  const found = sources.length > 0 ? { sources } : {};
  return { type: 'search', query: words, queries: words === '' ? [] : [words], ...found };
}

function actionTool(action: unknown): string {
  return isRecord(action) && action.type !== 'search' && action.type !== undefined ? OPEN_PAGE : WEB_SEARCH;
}

/** The arguments that the action was made from; a client may have sent any. */
function actionArguments(action: unknown): JsonObject {
  if (!isRecord(action)) return { query: '' };
  const { type, url, pattern, query, queries } = action;
  if (type === 'find_in_page') return { url: plainText(url), find: plainText(pattern) };
  if (type === 'open_page') return { url: plainText(url) };
  return { query: plainText(query ?? (Array.isArray(queries) ? queries[0] : undefined)) };
}

/** Results as text, the same whenever the model receives them. */
export function resultsText(results: unknown): string {
  if (!Array.isArray(results)) return '(The results were not kept.)';
  if (results.length === 0) return 'Nothing was found.';
  return results
    .filter(isRecord)
    .map(({ url, title, text }) => {
      if (url === undefined) return plainText(text);
      // A Markdown link, as the model is asked to write it.
      const label = plainText(title)
        .replace(/[[\]\s]+/g, ' ')
        .trim();
      const link = `[${label === '' ? plainText(url) : label}](${plainText(url)})`;
      return [link, plainText(text)].filter(Boolean).join('\n');
    })
    .join('\n\n');
}
