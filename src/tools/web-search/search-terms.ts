/** A request's terms for its searches: `filters`, `user_location` and `search_context_size` of its tool. */
import type { UserLocation } from '../../ports/hosted-tools/search-engine.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** The terms, checked. */
export interface SearchTerms {
  /** In lower case; empty for all domains. */
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
  readonly userLocation: UserLocation | undefined;
  /** The host's limits are multiplied by it. */
  readonly share: number;
  /** The most characters of a page, by Anthropic's `max_content_tokens`. */
  readonly maxCharacters: number;
}

const SHARES: Readonly<Record<string, number>> = { low: 0.5, medium: 1, high: 2 };
/** Rather too few than too many: most languages have more. */
const CHARACTERS_PER_TOKEN = 3;
/** OpenAI's limit. */
const MAX_DOMAINS = 100;
const MAX_NAME_LENGTH = 253;

/** Reads the request's tool. Throws an `Error` for domains that are none: without them a search would go everywhere. */
export function searchTerms(settings: JsonObject = {}): SearchTerms {
  const { filters, user_location: location, search_context_size: size, max_content_tokens: tokens } = settings;
  const { allowed_domains: allowed, blocked_domains: blocked } = isRecord(filters) ? filters : {};
  const text = (value: unknown) => (typeof value === 'string' && value.length <= MAX_NAME_LENGTH ? value : undefined);
  // Chat Completions nests them.
  const place = isRecord(location) && isRecord(location.approximate) ? location.approximate : location;
  return {
    allowedDomains: readDomains('allowed_domains', allowed),
    blockedDomains: readDomains('blocked_domains', blocked),
    userLocation: isRecord(place)
      ? {
          city: text(place.city),
          country: text(place.country),
          region: text(place.region),
          timezone: text(place.timezone),
        }
      : undefined,
    share: (typeof size === 'string' && Object.hasOwn(SHARES, size) ? SHARES[size] : undefined) ?? 1,
    maxCharacters: typeof tokens === 'number' && tokens > 0 ? tokens * CHARACTERS_PER_TOKEN : Number.POSITIVE_INFINITY,
  };
}

function readDomains(field: string, list: unknown): readonly string[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list) || list.length > MAX_DOMAINS)
    throw new Error(`'filters.${field}' of the tool must be a list of at most ${MAX_DOMAINS} domains.`);
  return list.map((entry: unknown) => {
    // The name alone: some clients write whole addresses.
    const name = typeof entry === 'string' && entry.length <= MAX_NAME_LENGTH ? entry : '';
    const address = name.includes('://') ? name : `https://${name}`;
    const domain = URL.canParse(address) ? domainFromURL(address).replace(/^\*?\./, '') : '';
    if (domain === '') throw new Error(`'filters.${field}' of the tool has an entry that is not a domain.`);
    return domain;
  });
}

/** Names with a dot at their end are those without. */
function domainFromURL(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '');
}

/** Whether a page may be shown under these terms; subdomains count with their domain. */
export function isAllowed(url: string, { allowedDomains, blockedDomains }: SearchTerms): boolean {
  if (allowedDomains.length === 0 && blockedDomains.length === 0) return true;
  if (!URL.canParse(url)) return false;
  const hostname = domainFromURL(url);
  const isIn = (domain: string) => hostname === domain || hostname.endsWith(`.${domain}`);
  return !blockedDomains.some(isIn) && (allowedDomains.length === 0 || allowedDomains.some(isIn));
}
