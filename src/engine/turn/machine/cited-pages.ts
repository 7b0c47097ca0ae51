/** Finds the links of a text that lead to pages which this server has found. */
import type { UrlCitation, WebResult } from '../../../protocol/items.ts';
import type { SharedMap } from '../data/shared-list.ts';

/** A page that an answer may cite. */
export interface CitedPage {
  readonly url: string;
  readonly title: string;
}

/** The pages of one turn, by their addresses in one spelling. */
type Pages = SharedMap<string, CitedPage>;

/** The most pages of one turn that are known, the most citations of one text, and the most addresses in it that are looked up. */
const MAX_PAGES = 4096;
const MAX_CITATIONS = 256;
const MAX_ADDRESSES = 8192;
/** A longer address is not cited, and a longer label belongs to no link. */
const MAX_URL = 2048;
const MAX_LABEL = 1024;

/** The pages with those of these results; a page keeps its first title. */
export function withPages(pages: Pages, results: readonly WebResult[]): Pages {
  let known = pages;
  for (const { url, title = '' } of results) {
    if (url === undefined || url.length > MAX_URL || known.size >= MAX_PAGES) continue;
    const key = pageKey(url);
    if ((known.get(key)?.title ?? '') === '') known = known.with(key, { url, title });
  }
  return known;
}

/** An address in one spelling: models leave out or add the last slash, and fragments. */
function pageKey(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}${search}`;
}

/** Where an address ends, besides white space: characters that URLs cannot have, or that stand around them. */
const END = /[\s<>"`[\]{}|\\^，。、；：！？）」』】》]/g;
const START = /https?:\/\//gi;

/**
 * The citations in order: whole Markdown links, and bare addresses. Each character is read a limited number of times,
 * whatever a model writes.
 */
export function citationsIn(text: string, pages: Pages): readonly UrlCitation[] {
  const citations: UrlCitation[] = [];
  let after = 0;
  for (let tried = 0; tried < MAX_ADDRESSES && citations.length < MAX_CITATIONS; tried += 1) {
    START.lastIndex = after;
    const at = START.exec(text)?.index;
    if (at === undefined) break;
    END.lastIndex = at;
    const end = END.exec(text)?.index ?? text.length;
    const link = markdownLinkAt(text, at, end, after);
    const [from, to, url] = link ?? [at, end, text.slice(at, Math.min(end, at + MAX_URL + 1))];
    const found = link ? pageAt(url, pages) : longestPageIn(url, pages);
    after = link ? to : end;
    if (!found) continue;
    const end_index = link ? to : at + found.length;
    after = end_index;
    citations.push({
      type: 'url_citation',
      url: found.page.url,
      title: found.page.title,
      start_index: from,
      end_index,
    });
  }
  return citations;
}

/** The start, end and address of the Markdown link whose address begins here; an address may have balanced parentheses. */
function markdownLinkAt(
  text: string,
  at: number,
  end: number,
  after: number,
): readonly [number, number, string] | undefined {
  if (text[at - 1] !== '(' || text[at - 2] !== ']') return undefined;
  const close = closingParenthesis(text, at, Math.min(end, at + MAX_URL));
  const open = openingBracket(text, at - 3, Math.max(after, at - MAX_LABEL));
  if (close === undefined || open === undefined) return undefined;
  const url = text.slice(at, close);
  if (text[close] === ')') return [open, close + 1, url];
  const title = text.slice(close, close + MAX_LABEL).indexOf('")');
  return text[close + 1] === '"' && title > 1 ? [open, close + title + 2, url] : undefined;
}

function closingParenthesis(text: string, from: number, to: number): number | undefined {
  let depth = 0;
  for (let at = from; at < to; at += 1) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')' && depth === 0) return at;
    else if (text[at] === ')') depth -= 1;
  }
  // A title may follow: [label](address "title").
  return text[to] === ' ' ? to : undefined;
}

function openingBracket(text: string, from: number, to: number): number | undefined {
  let depth = 0;
  for (let at = from; at >= to; at -= 1) {
    if (text[at] === ']') depth += 1;
    else if (text[at] === '[' && depth === 0) return at;
    else if (text[at] === '[') depth -= 1;
  }
  return undefined;
}

interface PageMatch {
  readonly page: CitedPage;
  readonly length: number;
}

function pageAt(url: string, pages: Pages): PageMatch | undefined {
  const page = pages.get(pageKey(url));
  return page && { page, length: url.length };
}

/** The most marks after an address that may not belong to it. */
const MAX_MARKS = 8;
const MARK = /[.,;:!?'*_~)(]$/;

/** The page of a bare address; marks of the sentence may follow it. */
function longestPageIn(text: string, pages: Pages): PageMatch | undefined {
  if (text.length > MAX_URL) return undefined;
  let url = text;
  for (let marks = 0; marks <= MAX_MARKS; marks += 1) {
    const found = pageAt(url, pages);
    if (found) return found;
    if (!MARK.test(url)) return undefined;
    url = url.slice(0, -1);
  }
  return undefined;
}
