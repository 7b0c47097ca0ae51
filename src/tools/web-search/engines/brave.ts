/** Brave Search: its web search API. */
import { checkOptions, milliseconds } from '../../../ports/host/options-check.ts';
import { urlBelow } from '../../../ports/host/url-below.ts';
import type { SearchEngine, SearchQuery, UserLocation } from '../../../ports/hosted-tools/search-engine.ts';
import { type JsonObject, plainTextOf } from '../../../protocol/record.ts';
import { fetchJson, recordsIn } from './fetch-json.ts';
import { isApiKey, isBaseURL, needOption, TIMEOUT_MS } from './options.ts';

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
  needOption('brave', 'apiKey', options.apiKey);
  const { apiKey, baseURL = 'https://api.search.brave.com/res/v1', timeoutMs = TIMEOUT_MS } = options;
  return {
    name: 'brave',
    async search(query) {
      const url = urlBelow(baseURL, 'web/search');
      url.search = String(parameters(query));
      const headers = {
        accept: 'application/json',
        'x-subscription-token': apiKey,
        ...placeHeaders(query.userLocation),
      };
      const { web } = await fetchJson({ engine: 'Brave', url, init: { headers }, signal: query.signal, timeoutMs });
      return recordsIn((web as JsonObject | undefined)?.results).map(
        ({ url: address, title, description, extra_snippets: more }) => ({
          url: plainTextOf(address),
          title: unmarked(plainTextOf(title)),
          text: [description, ...(Array.isArray(more) ? more : [])]
            .map((part) => unmarked(plainTextOf(part)))
            .join('\n'),
        }),
      );
    },
  };
}

function parameters({ query, maxResults, allowedDomains, blockedDomains, userLocation }: SearchQuery): URLSearchParams {
  const sites = allowedDomains.map((domain) => `site:${domain}`).join(' OR ');
  const others = blockedDomains.map((domain) => `-site:${domain}`).join(' ');
  // A query that is too long is refused: then the results are filtered here alone.
  const whole = [query, sites, others].filter(Boolean).join(' ');
  const country = /^[a-z]{2}$/i.test(userLocation?.country ?? '') ? userLocation?.country?.toUpperCase() : undefined;
  return new URLSearchParams({
    q: whole.length > MAX_QUERY_LENGTH ? query.slice(0, MAX_QUERY_LENGTH) : whole,
    count: String(Math.min(maxResults, MAX_RESULTS)),
    ...(country === undefined ? {} : { country }),
  });
}

/** Headers hold no other characters. */
function placeHeaders({ city, country, region, timezone }: UserLocation = {}): Record<string, string> {
  const given = {
    'x-loc-city': city,
    'x-loc-country': country,
    'x-loc-state-name': region,
    'x-loc-timezone': timezone,
  };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value !== undefined && /^[\x20-\x7e]{1,100}$/.test(value) ? [[name, value]] : [],
    ),
  );
}

/** The API marks the words that it found. */
function unmarked(text: string): string {
  return text.replace(/<\/?strong>/g, '');
}
