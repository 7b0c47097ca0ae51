/** The web search that the example's server runs itself. */
import type { ToolProvider } from 'express-open-responses';
import { demoSearch } from 'express-open-responses/testing';
import { searxng, webSearch } from 'express-open-responses/web-search';

/** Searches with a SearXNG instance; without one the demo model searches made-up pages, and other models have no search. */
export function startSearch(searxngURL: string | undefined, isDemo: boolean): readonly ToolProvider[] {
  if (searxngURL !== undefined) return [webSearch({ engine: searxng({ baseURL: searxngURL }) })];
  return isDemo ? [webSearch({ engine: demoSearch(), pages: false })] : [];
}
