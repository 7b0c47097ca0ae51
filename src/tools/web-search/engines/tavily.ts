/** Tavily: a search API for models. */
import { checkOptions, milliseconds } from '../../../ports/host/options-check.ts';
import { urlBelow } from '../../../ports/host/url-below.ts';
import type { SearchEngine } from '../../../ports/hosted-tools/search-engine.ts';
import { plainText, recordsIn } from '../../../protocol/record.ts';
import { fetchJson } from './fetch-json.ts';
import { DEFAULT_TIMEOUT_MS, isApiKey, isBaseURL, requireOption } from './options.ts';

/** The account at Tavily; `undefined` means omitted. */
export interface TavilyOptions {
  /** Such as `tvly-…`. */
  readonly apiKey: string;
  /** Default: `https://api.tavily.com`. */
  readonly baseURL?: string | undefined;
  /** `advanced` costs twice as much. Default: `basic`. */
  readonly depth?: 'basic' | 'advanced' | undefined;
  /** How long one search may take, in milliseconds. Default: 15,000. */
  readonly timeoutMs?: number | undefined;
}

/** What the API accepts. */
const MAX_RESULTS = 20;

/** An engine that asks Tavily, which filters domains itself. It cannot use the user's location. Throws a `TypeError` for a bad option. */
export function tavily(options: TavilyOptions): SearchEngine {
  checkOptions('tavily', options, {
    apiKey: isApiKey,
    baseURL: isBaseURL,
    depth: (value) => value === 'basic' || value === 'advanced' || "'basic' or 'advanced'",
    timeoutMs: milliseconds,
  });
  requireOption('tavily', 'apiKey', options.apiKey);
  const { apiKey, baseURL = 'https://api.tavily.com', depth = 'basic', timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  return {
    name: 'tavily',
    async search({ query, maxResults, allowedDomains, blockedDomains, signal }) {
      const searchRequest = {
        query,
        search_depth: depth,
        max_results: Math.min(maxResults, MAX_RESULTS),
        ...(allowedDomains.length > 0 ? { include_domains: allowedDomains } : {}),
        ...(blockedDomains.length > 0 ? { exclude_domains: blockedDomains } : {}),
      };
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(searchRequest) };
      const { results } = await fetchJson({
        engine: 'Tavily',
        url: urlBelow(baseURL, 'search'),
        init,
        signal,
        timeoutMs,
      });
      return recordsIn(results).map(({ url, title, content }) => ({
        url: plainText(url),
        title: plainText(title),
        text: plainText(content),
      }));
    },
  };
}
