/** OpenAI's web search as a tool that this server runs: a search engine, and pages that the model opens. */

import { boolean, checkOptions, isFunction, positiveInteger } from '../../ports/host/options-check.ts';
import type { SearchEngine } from '../../ports/hosted-tools/search-engine.ts';
import { limitScope } from '../../ports/scope.ts';
import type { ProvidedTool, ToolCall, ToolProvider, ToolResult } from '../../ports/tool-provider.ts';
import { isRecord, plainText } from '../../protocol/record.ts';
import { OPEN_PAGE, resultsText, WEB_SEARCH } from '../../protocol/tool-calls/web-search-call.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import { cutText } from './cut-text.ts';
import { foundResults } from './found-results.ts';
import { arePagesReadable, pageReader } from './pages/page-reader.ts';
import { passagesIn } from './pages/passages.ts';
import { isAllowed, searchTerms } from './search-terms.ts';

/** The engine, and how much of its results the model receives; `undefined` means omitted. */
export interface WebSearchOptions {
  /** Such as `searxng({ baseURL })`; closed with the provider. */
  readonly engine: SearchEngine;
  /**
   * Whether the model may open pages, which needs the packages `@mozilla/readability` and `linkedom`. Default: whether both are
   * installed.
   */
  readonly pages?: boolean | undefined;
  /**
   * Which pages may be opened: a policy of `egressGuard`. Default: public hosts over `https` and `http`, 5 MiB for each page, 20
   * seconds.
   */
  readonly egress?: EgressPolicy | undefined;
  /** The maximum number of results of one search that the model receives; `search_context_size` halves or doubles it. Default: 8. */
  readonly maxResults?: number | undefined;
  /** The maximum number of characters of one search, or of one page, that the model receives; likewise. Default: 16,000. */
  readonly maxCharacters?: number | undefined;
}

const MAX_QUERY_LENGTH = 2000;

const CITE = 'Cite every page that you use as a Markdown link: [title](address).';
const SEARCH: ProvidedTool = {
  server: WEB_SEARCH,
  name: WEB_SEARCH,
  requestedBy: WEB_SEARCH,
  description: `Searches the web and answers with titles, addresses and excerpts of pages. ${CITE}`,
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'The words to search for.' } },
    required: ['query'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};
const OPEN: ProvidedTool = {
  server: WEB_SEARCH,
  name: OPEN_PAGE,
  requestedBy: WEB_SEARCH,
  description: `Opens a page of the web and answers with its text, or with the passages around a text in it. ${CITE}`,
  parameters: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'The whole address of the page.' },
      find: { type: 'string', description: 'A text to find in the page, instead of its beginning.' },
    },
    required: ['url'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

/**
 * Creates a provider for the option `tools`: it serves requests whose `tools` contain `web_search` or `web_search_preview`. Throws a
 * `TypeError` for a bad option, and for `pages: true` without the packages that read pages.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { searxng, webSearch } from 'express-open-responses/web-search';
 *
 * const router = responsesRouter({ tools: webSearch({ engine: searxng({ baseURL: 'http://localhost:8080' }) }) });
 * ```
 */
export function webSearch(options: WebSearchOptions): ToolProvider {
  checkOptions('webSearch', options, {
    engine: (value) => (isRecord(value) && isFunction(value.search) === true) || 'a search engine, such as searxng()',
    pages: boolean,
    egress: (value) => isRecord(value) || 'a policy of egressGuard',
    maxResults: positiveInteger,
    maxCharacters: positiveInteger,
  });
  const { engine, pages = arePagesReadable(), egress, maxResults = 8, maxCharacters = 16_000 } = options;
  if (!engine) throw new TypeError('webSearch: engine is required, got undefined');
  const reader = pages ? pageReader(egress) : undefined;
  const limits = { maxResults, maxCharacters };
  return {
    name: WEB_SEARCH,
    list: () => (reader ? [SEARCH, OPEN] : [SEARCH]),
    objection: (settings, { name }) => findObjection(settings, name, engine),
    async call(call, signal) {
      const objection = findObjection(call.settings, call.name, engine);
      if (objection !== undefined) throw new Error(objection);
      if (call.name !== OPEN_PAGE) return search(call, engine, limits, signal);
      if (!reader) throw new Error('Pages cannot be opened here.');
      const terms = searchTerms(call.settings);
      const page = await reader.read(plainText(call.arguments.url), {
        allows: (url) => isAllowed(url, terms),
        tenant: limitScope(call.scope),
        signal,
      });
      const characters = Math.min(Math.ceil(maxCharacters * terms.share), terms.maxCharacters);
      const find = plainText(call.arguments.find);
      const text = find === '' ? cutText(page.text, characters) : passagesIn(page.text, find, characters);
      const results = [{ ...page, text: text === '' ? '(The page has no text.)' : text }];
      return { content: resultsText(results), results };
    },
    async close() {
      await reader?.close();
      await engine.close?.();
    },
  };
}

/** Pages are always opened on the live web. */
function findObjection(settings: ToolCall['settings'], tool: string, engine: SearchEngine): string | undefined {
  if (settings?.external_web_access !== false) return undefined;
  if (tool === OPEN_PAGE) return "'external_web_access' is false, and pages are opened on the live web";
  return engine.cachedOnly ? undefined : `'external_web_access' is false, and '${engine.name}' searches the live web`;
}

interface Limits {
  readonly maxResults: number;
  readonly maxCharacters: number;
}

async function search(call: ToolCall, engine: SearchEngine, limits: Limits, signal: AbortSignal): Promise<ToolResult> {
  const query = plainText(call.arguments.query).trim().slice(0, MAX_QUERY_LENGTH);
  if (query === '') throw new Error('input_validation_error: the query is empty');
  const terms = searchTerms(call.settings);
  const { share, allowedDomains, blockedDomains, userLocation } = terms;
  const maxResults = Math.ceil(limits.maxResults * share);
  const { scope, requestId, request } = call;
  const answer = await engine.search({
    query,
    maxResults,
    allowedDomains,
    blockedDomains,
    userLocation,
    signal,
    about: { scope, requestId, request },
  });
  const characters = Math.ceil(limits.maxCharacters * share);
  const results = foundResults(answer, terms, { results: maxResults, characters });
  return { content: resultsText(results), results };
}
