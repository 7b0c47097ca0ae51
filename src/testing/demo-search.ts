/** A search engine that needs no network, so that an app can demonstrate searches without an account. */
import type { SearchEngine } from '../ports/hosted-tools/search-engine.ts';

const LONGEST_WORDS = 100;
const PAGES = ['Guide', 'History', 'Questions and answers'];

/**
 * An engine for `webSearch({ engine })` that finds three made-up pages of example.com for any query; the same search always
 * has the same results.
 */
export function demoSearch(): SearchEngine {
  return {
    name: 'demo',
    async search({ query, maxResults }) {
      const words = query.slice(0, LONGEST_WORDS);
      const path = encodeURIComponent(Buffer.from(words.toLowerCase()).toString()).replaceAll('%20', '-');
      return PAGES.slice(0, maxResults).map((page, at) => ({
        url: `https://example.com/${path}/${at + 1}`,
        title: `${page}: ${words}`,
        text: `What the page ${at + 1} of the demo says of ${words}.`,
      }));
    },
  };
}
