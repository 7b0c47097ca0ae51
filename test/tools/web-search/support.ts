/** A web search without a web: an engine that knows a few pages, and requests for it. */

import {
  type SearchEngine,
  type SearchQuery,
  type WebSearchOptions,
  webSearch,
} from 'express-open-responses/web-search';
import type { WebResult } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import type { FakeAnswer } from '../../../src/testing/index.ts';
import { calls } from '../../engine/tools/support.ts';

export const PAGES: readonly WebResult[] = [
  { url: 'https://one.example.com/a', title: 'One', text: 'The first page.' },
  { url: 'https://two.example.org/b/', title: 'Two', text: 'The second page.' },
];

/** What the model receives of them. */
export const SENT_RESULTS =
  '[One](https://one.example.com/a)\nThe first page.\n\n[Two](https://two.example.org/b/)\nThe second page.';

/** An engine that answers every search with these, and remembers what it was asked. */
export function engineOf(answer: (query: SearchQuery) => unknown = () => PAGES) {
  const asked: SearchQuery[] = [];
  const engine: SearchEngine = {
    name: 'fake',
    async search(query) {
      asked.push(query);
      // The cast: some tests answer what no engine should.
      return (await answer(query)) as readonly WebResult[];
    },
  };
  return { engine, asked };
}

/** The provider over such an engine. */
export function searching(answer?: (query: SearchQuery) => unknown, options: Partial<WebSearchOptions> = {}) {
  const { engine, asked } = engineOf(answer);
  return { tools: webSearch({ engine, ...options }), asked };
}

export const ASKING: JsonObject = { tools: [{ type: 'web_search' }] };
export const INCLUDING: JsonObject = {
  ...ASKING,
  include: ['web_search_call.results', 'web_search_call.action.sources'],
};

/** A round in which the model searches for each of these. */
export function searches(...queries: readonly string[]): FakeAnswer {
  return calls(...queries.map((query, at) => [`call_${at}`, 'web_search', JSON.stringify({ query })] as const));
}

/** A round in which it opens a page. */
export function opens(url: string, find?: string): FakeAnswer {
  return calls(['call_0', 'open_page', JSON.stringify({ url, ...(find === undefined ? {} : { find }) })]);
}
