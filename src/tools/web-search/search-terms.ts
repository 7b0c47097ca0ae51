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
  return {
    allowedDomains: domainsIn('allowed_domains', allowed),
    blockedDomains: domainsIn('blocked_domains', blocked),
    userLocation: locationIn(location),
    share: (typeof size === 'string' && Object.hasOwn(SHARES, size) ? SHARES[size] : undefined) ?? 1,
    maxCharacters: typeof tokens === 'number' && tokens > 0 ? tokens * CHARACTERS_PER_TOKEN : Number.POSITIVE_INFINITY,
  };
}

function domainsIn(field: string, list: unknown): readonly string[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list) || list.length > MAX_DOMAINS)
    throw new Error(`'filters.${field}' of the tool must be a list of at most ${MAX_DOMAINS} domains.`);
  return list.map((domain) => domainOf(domain) ?? refuse(field));
}

function refuse(field: string): never {
  throw new Error(`'filters.${field}' of the tool has an entry that is not a domain.`);
}

/** The name alone: some clients write whole addresses. */
function domainOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_NAME_LENGTH) return undefined;
  const address = value.includes('://') ? value : `https://${value}`;
  return URL.canParse(address) ? domainIn(address).replace(/^\*?\./, '') || undefined : undefined;
}

/** Names with a dot at their end are those without. */
function domainIn(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '');
}

function locationIn(value: unknown): UserLocation | undefined {
  if (!isRecord(value)) return undefined;
  // Chat Completions nests them.
  const { city, country, region, timezone } = isRecord(value.approximate) ? value.approximate : value;
  const text = (each: unknown) => (typeof each === 'string' && each.length <= MAX_NAME_LENGTH ? each : undefined);
  return { city: text(city), country: text(country), region: text(region), timezone: text(timezone) };
}

/** Whether a page may be shown under these terms; subdomains count with their domain. */
export function isAllowed(url: string, { allowedDomains, blockedDomains }: SearchTerms): boolean {
  if (allowedDomains.length === 0 && blockedDomains.length === 0) return true;
  if (!URL.canParse(url)) return false;
  const hostname = domainIn(url);
  const isIn = (domain: string) => hostname === domain || hostname.endsWith(`.${domain}`);
  return !blockedDomains.some(isIn) && (allowedDomains.length === 0 || allowedDomains.some(isIn));
}
