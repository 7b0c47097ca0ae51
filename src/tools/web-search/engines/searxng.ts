/** SearXNG, a search engine for one's own machines: its JSON API. */
import { checkOptions, milliseconds } from '../../../ports/host/options-check.ts';
import { urlBelow } from '../../../ports/host/url-below.ts';
import type { SearchEngine } from '../../../ports/hosted-tools/search-engine.ts';
import { plainText, recordsIn } from '../../../protocol/record.ts';
import { fetchJson } from './fetch-json.ts';
import { DEFAULT_TIMEOUT_MS, isBaseURL, requireOption } from './options.ts';

/** Where SearXNG runs, and how it searches; `undefined` means omitted. */
export interface SearxngOptions {
  /** The address of the instance, such as `http://localhost:8080`. */
  readonly baseURL: string;
  /** The language of the results, such as `en` or `de-DE`. Default: the instance's own. */
  readonly language?: string | undefined;
  /** Such as `['general', 'news']`. Default: the instance's own. */
  readonly categories?: readonly string[] | undefined;
  /** How long one search may take, in milliseconds. Default: 15,000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * An engine that asks a SearXNG instance, in whose settings `search.formats` must contain `json`. It has no filter for domains:
 * the query has `site:`, and other results are left out. It cannot use the user's location. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { searxng, webSearch } from 'express-open-responses/web-search';
 *
 * const search = webSearch({ engine: searxng({ baseURL: 'http://localhost:8080' }) });
 * ```
 */
export function searxng(options: SearxngOptions): SearchEngine {
  checkOptions('searxng', options, {
    baseURL: isBaseURL,
    language: (value) => typeof value === 'string' || 'text',
    categories: (value) =>
      (Array.isArray(value) && value.every((each) => typeof each === 'string')) || 'a list of texts',
    timeoutMs: milliseconds,
  });
  requireOption('searxng', 'baseURL', options.baseURL);
  const { baseURL, language, categories, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  return {
    name: 'searxng',
    async search({ query, allowedDomains, signal }) {
      const url = urlBelow(baseURL, 'search');
      const sites = allowedDomains.map((domain) => `site:${domain}`).join(' OR ');
      const parameters = new URLSearchParams({
        q: sites === '' ? query : `${query} ${sites}`,
        format: 'json',
        ...(language === undefined ? {} : { language }),
        ...(categories === undefined ? {} : { categories: categories.join(',') }),
      });
      url.search = String(parameters);
      const { results } = await fetchJson({ engine: 'SearXNG', url, signal, timeoutMs });
      return recordsIn(results).map(({ url: address, title, content }) => ({
        url: plainText(address),
        title: plainText(title),
        text: plainText(content),
      }));
    },
  };
}
