/** What an engine found, as it is passed to the model: without pages that the request excludes, and limited in number and length. */
import type { WebResult } from '../../protocol/items.ts';
import { isRecord, plainText } from '../../protocol/record.ts';
import { cutText } from './cut-text.ts';
import { isAllowed, type SearchTerms } from './search-terms.ts';

/** The limits of one search. */
interface ResultLimits {
  readonly results: number;
  /** Of all texts together. */
  readonly characters: number;
}

const MAX_URL_LENGTH = 2048;
const MAX_TITLE_LENGTH = 300;

/** The results, each address once. An engine is the host's, and need not be type-checked. */
export function foundResults(answer: unknown, terms: SearchTerms, limits: ResultLimits): readonly WebResult[] {
  if (!Array.isArray(answer)) throw new Error('The search engine did not answer with a list of results.');
  const addresses = new Set<string>();
  const results: WebResult[] = [];
  for (const each of answer) {
    if (results.length >= limits.results) break;
    const result = isRecord(each) ? readResult(each) : undefined;
    if (!result) continue;
    const { url } = result;
    // A text without an address may be of any domain.
    const mayShow = url === undefined ? terms.allowedDomains.length === 0 : isAllowed(url, terms);
    if (!mayShow || (url !== undefined && addresses.has(url))) continue;
    if (url !== undefined) addresses.add(url);
    results.push(result);
  }
  // Each may have an equal part of the characters, and what those before it left.
  let charactersLeft = limits.characters;
  return results.map((result, at) => {
    const text = cutText(result.text.trim(), Math.floor(charactersLeft / (results.length - at)));
    charactersLeft -= Math.min(charactersLeft, text.length);
    return { ...result, text };
  });
}

function readResult({ url, title, text }: Readonly<Record<string, unknown>>): WebResult | undefined {
  if (url === undefined) return { text: plainText(text) };
  const address = plainText(url);
  if (address.length > MAX_URL_LENGTH || !/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  // Brackets would end the link that the model receives.
  const href = new URL(address).href.replaceAll('[', '%5B').replaceAll(']', '%5D');
  return {
    url: href,
    title: cutText(plainText(title).replace(/\s+/g, ' ').trim(), MAX_TITLE_LENGTH),
    text: plainText(text),
  };
}
