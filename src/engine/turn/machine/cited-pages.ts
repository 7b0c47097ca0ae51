/** Finds the links of a text that lead to pages which this server has found, and to files in containers. */
import type { ContainerFileCitation, Item, UrlCitation, WebResult } from '../../../protocol/items.ts';
import { codeInterpreterCall } from '../../../protocol/tool-calls/code-interpreter-call.ts';
import type { ContainerFileLink } from '../../../protocol/tool-calls/kind.ts';
import { SharedMap } from '../data/shared-list.ts';

/** A page that an answer may cite. */
interface CitedPage {
  readonly url: string;
  readonly title: string;
}

/** The pages and the files in containers of one turn, by their addresses in one spelling. */
export type CitedPages = SharedMap<string, CitedPage | ContainerFileLink>;

/** The citation of a link. */
type LinkCitation = UrlCitation | ContainerFileCitation;

/** The most pages of one turn that are known, the most citations of one text, and the most addresses in it that are looked up. */
const MAX_PAGES = 4096;
const MAX_CITATIONS = 256;
const MAX_ADDRESSES = 8192;
/** A longer address is not cited, and a longer label belongs to no link. */
const MAX_URL = 2048;
const MAX_LABEL = 1024;

/** The pages with those of these results; a page keeps its first title. */
export function withPages(pages: CitedPages, results: readonly WebResult[]): CitedPages {
  let known = pages;
  for (const { url, title = '' } of results) {
    if (url === undefined || url.length > MAX_URL || known.size >= MAX_PAGES) continue;
    const key = pageKey(url);
    const page = known.get(key);
    if (!page || !('title' in page) || page.title === '') known = known.with(key, { url, title });
  }
  return known;
}

/** The folder of a container's code, as models write it in links, with and without this scheme. */
const FOLDER = '/mnt/data/';
const SCHEME = 'sandbox:';

/** The same with these files; the last one of a path counts. */
export function withContainerFiles(pages: CitedPages, files: readonly ContainerFileLink[]): CitedPages {
  let known = pages;
  for (const file of files) {
    const key = `${FOLDER}${file.name}`;
    if (key.length <= MAX_URL && (known.size < MAX_PAGES || known.has(key))) known = known.with(key, file);
  }
  return known;
}

/** The files that the code of a conversation has written; undefined for none. */
export function linkableFiles(conversation: readonly Item[]): CitedPages | undefined {
  const written = conversation
    .filter(({ type, files }) => type === codeInterpreterCall.type && Array.isArray(files))
    .flatMap((item) => codeInterpreterCall.citable?.(item).written ?? []);
  return written.length === 0 ? undefined : withContainerFiles(new SharedMap(), written);
}

/** An address in one spelling: models leave out or add the last slash, and fragments. */
function pageKey(url: string): string {
  if (url.startsWith(SCHEME) || url.startsWith(FOLDER)) return containerPath(url);
  if (!URL.canParse(url)) return url;
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}${search}`;
}

/** Models escape what they escape in URLs. */
function containerPath(link: string): string {
  const path = link.startsWith(SCHEME) ? link.slice(SCHEME.length) : link;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Where an address ends, besides white space: characters that URLs cannot have, or that stand around them. */
const END = /[\s<>"`[\]{}|\\^，。、；：！？）」』】》]/g;
const START = /https?:\/\/|(?:sandbox:)?\/mnt\/data\//gi;

/**
 * The citations in order: whole Markdown links, and bare addresses. Each character is read a limited number of times,
 * whatever a model writes.
 */
export function citationsIn(text: string, pages: CitedPages): readonly LinkCitation[] {
  const citations: LinkCitation[] = [];
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
    const { page } = found;
    const end_index = link ? to : at + found.length;
    after = end_index;
    if ('url' in page) {
      const { url: cited, title } = page;
      citations.push({ type: 'url_citation', url: cited, title, start_index: from, end_index });
      continue;
    }
    const { container_id, file_id, name } = page;
    // OpenAI cites the address alone, which clients replace by their own.
    const span = { start_index: at, end_index: at + found.length };
    const filename = name.slice(name.lastIndexOf('/') + 1);
    citations.push({ type: 'container_file_citation', container_id, file_id, filename, ...span });
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
  readonly page: CitedPage | ContainerFileLink;
  readonly length: number;
}

function pageAt(url: string, pages: CitedPages): PageMatch | undefined {
  const page = pages.get(pageKey(url));
  return page && { page, length: url.length };
}

/** The most marks after an address that may not belong to it. */
const MAX_MARKS = 8;
const MARK = /[.,;:!?'*_~)(]$/;

/** The page of a bare address; marks of the sentence may follow it. */
function longestPageIn(text: string, pages: CitedPages): PageMatch | undefined {
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
