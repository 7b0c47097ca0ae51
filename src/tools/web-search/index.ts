/** Web search: a tool that searches with an engine of the host's choice, and opens pages for the model; reading pages needs the packages `@mozilla/readability` and `linkedom`. */

export type { SearchEngine, SearchQuery, UserLocation } from '../../ports/hosted-tools/search-engine.ts';
export type { WebResult } from '../../protocol/items.ts';
export type { EgressPolicy } from '../egress/policy.ts';
export type { EgressRule } from '../egress/rules.ts';
export { type BraveOptions, brave } from './engines/brave.ts';
export { type McpSearchOptions, mcpSearch } from './engines/mcp-search.ts';
export { type SearxngOptions, searxng } from './engines/searxng.ts';
export { type TavilyOptions, tavily } from './engines/tavily.ts';
export { type WebSearchOptions, webSearch } from './web-search.ts';
