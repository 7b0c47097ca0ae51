/** What an engine found, as it is passed to the model: without pages that the request excludes, and limited in number and length. */
import type { WebResult } from '../../protocol/items.ts';
import { isRecord, plainTextOf } from '../../protocol/record.ts';
import { isAllowed, type SearchTerms } from './search-terms.ts';
import { cutText } from './shared/cut-text.ts';

/** The limits of one search. */
interface ResultLimits {
  readonly results: number;
  /** Of all texts together. */
  readonly characters: number;
}

const MAX_URL_LENGTH = 2048;
const MAX_TITLE_LENGTH = 300;

/** The results, each address once. An engine is the host's, and need not be type-checked. */
export function foundResults(given: unknown, terms: SearchTerms, limits: ResultLimits): readonly WebResult[] {
  if (!Array.isArray(given)) throw new Error('The search engine did not answer with a list of results.');
  const seen = new Set<string>();
  const kept: WebResult[] = [];
  for (const each of given) {
    if (kept.length >= limits.results) break;
    const result = isRecord(each) ? readResult(each) : undefined;
    if (!result || !mayShow(result, terms) || seen.has(result.url ?? '')) continue;
    if (result.url !== undefined) seen.add(result.url);
    kept.push(result);
  }
  return inRoom(kept, limits.characters);
}

function readResult({ url, title, text }: Readonly<Record<string, unknown>>): WebResult | undefined {
  if (url === undefined) return { text: plainTextOf(text) };
  const address = plainTextOf(url);
  if (address.length > MAX_URL_LENGTH || !/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  // Brackets would end the link that the model receives.
  const whole = new URL(address).href.replaceAll('[', '%5B').replaceAll(']', '%5D');
  return {
    url: whole,
    title: cutText(plainTextOf(title).replace(/\s+/g, ' ').trim(), MAX_TITLE_LENGTH),
    text: plainTextOf(text),
  };
}

/** A text without an address may be of any domain. */
function mayShow({ url }: WebResult, terms: SearchTerms): boolean {
  return url === undefined ? terms.allowedDomains.length === 0 : isAllowed(url, terms);
}

/** Each may have an equal part of the room, and what those before it left. */
function inRoom(results: readonly WebResult[], characters: number): readonly WebResult[] {
  let room = characters;
  return results.map((result, at) => {
    const text = cutText(result.text.trim(), Math.floor(room / (results.length - at)));
    room -= Math.min(room, text.length);
    return { ...result, text };
  });
}
