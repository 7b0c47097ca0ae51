/** What the web tools of model servers and providers looked at. */
import type { UrlSource, WebAction } from '../items.ts';
import { type JsonObject, plainText, recordsIn } from '../record.ts';

/** The most pages of one search that are shown. */
const MAX_SOURCES = 100;

/** What a tool was asked for, by the fields of its input: a page, or a search. */
export function webAction({ query, url }: JsonObject): WebAction {
  if (typeof url === 'string' && typeof query !== 'string') return { type: 'open_page', url };
  const text = plainText(query);
  return { type: 'search', query: text, queries: text === '' ? [] : [text] };
}

/** The pages that a tool has found, each once. */
export function pageSources(pages: unknown): readonly UrlSource[] {
  const urls = recordsIn(pages).flatMap(({ url }) => (typeof url === 'string' && url !== '' ? [url] : []));
  return [...new Set(urls)].slice(0, MAX_SOURCES).map((url) => ({ type: 'url', url }));
}
