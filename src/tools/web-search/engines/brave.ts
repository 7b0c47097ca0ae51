/** Brave Search: its web search API. */
import { checkOptions, milliseconds } from '../../../ports/host/options-check.ts';
import { urlBelow } from '../../../ports/host/url-below.ts';
import type { SearchEngine } from '../../../ports/hosted-tools/search-engine.ts';
import { type JsonObject, plainText, recordsIn } from '../../../protocol/record.ts';
import { fetchJson } from './fetch-json.ts';
import { DEFAULT_TIMEOUT_MS, isApiKey, isBaseURL, requireOption } from './options.ts';

/** The account at Brave; `undefined` means omitted. */
export interface BraveOptions {
  /** The subscription token. */
  readonly apiKey: string;
  /** Default: `https://api.search.brave.com/res/v1`. */
  readonly baseURL?: string | undefined;
  /** How long one search may take, in milliseconds. Default: 15,000. */
  readonly timeoutMs?: number | undefined;
}

/** What the API accepts. */
const MAX_RESULTS = 20;
const MAX_QUERY_LENGTH = 400;

/**
 * An engine that asks Brave Search. Domains are part of the query, as `site:`; the user's location is sent in the API's headers.
 * Throws a `TypeError` for a bad option.
 */
export function brave(options: BraveOptions): SearchEngine {
  checkOptions('brave', options, { apiKey: isApiKey, baseURL: isBaseURL, timeoutMs: milliseconds });
  requireOption('brave', 'apiKey', options.apiKey);
  const { apiKey, baseURL = 'https://api.search.brave.com/res/v1', timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  return {
    name: 'brave',
    async search({ query, maxResults, allowedDomains, blockedDomains, userLocation = {}, signal }) {
      const url = urlBelow(baseURL, 'web/search');
      const sites = allowedDomains.map((domain) => `site:${domain}`).join(' OR ');
      const others = blockedDomains.map((domain) => `-site:${domain}`).join(' ');
      // A query that is too long is refused: then the results are filtered here alone.
      const siteQuery = [query, sites, others].filter(Boolean).join(' ');
      const { city, country = '', region, timezone } = userLocation;
      const parameters = new URLSearchParams({
        q: siteQuery.length > MAX_QUERY_LENGTH ? query.slice(0, MAX_QUERY_LENGTH) : siteQuery,
        count: String(Math.min(maxResults, MAX_RESULTS)),
        ...(/^[a-z]{2}$/i.test(country) ? { country: country.toUpperCase() } : {}),
      });
      url.search = String(parameters);
      const headers: Record<string, string> = { accept: 'application/json', 'x-subscription-token': apiKey };
      const location = {
        'x-loc-city': city,
        'x-loc-country': country,
        'x-loc-state-name': region,
        'x-loc-timezone': timezone,
      };
      for (const [name, value] of Object.entries(location)) {
        // Headers hold no other characters.
        if (value !== undefined && /^[\x20-\x7e]{1,100}$/.test(value)) headers[name] = value;
      }
      const { web } = await fetchJson({ engine: 'Brave', url, init: { headers }, signal, timeoutMs });
      // The API marks the words that it found.
      const unmarkedText = (value: unknown) => plainText(value).replace(/<\/?strong>/g, '');
      return recordsIn((web as JsonObject | undefined)?.results).map(
        ({ url: address, title, description, extra_snippets: more }) => ({
          url: unmarkedText(address),
          title: unmarkedText(title),
          text: [description, ...(Array.isArray(more) ? more : [])].map(unmarkedText).join('\n'),
        }),
      );
    },
  };
}
