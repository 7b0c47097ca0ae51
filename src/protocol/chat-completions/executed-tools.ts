/** What a model server's own tools have done, as Groq reports it: searches and visited pages become items. */
import type { ModelEvent } from '../events.ts';
import type { WebAction } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { pageSources } from '../tool-calls/web-pages.ts';

/** The most tools of one answer that are shown. */
const MAX_TOOLS = 64;

/** The tools of one answer, which a stream reports when they begin and again with their output. */
export class ExecutedTools {
  private readonly begun = new Set<unknown>();
  private readonly ended = new Set<unknown>();

  /** Adds the events of the field; returns false if it holds anything that no item shows. */
  take(tools: unknown, events: ModelEvent[]): boolean {
    if (!Array.isArray(tools)) return false;
    let isShown = true;
    for (const tool of tools) isShown = isRecord(tool) && this.takeTool(tool, events) && isShown;
    return isShown;
  }

  private takeTool(tool: JsonObject, events: ModelEvent[]): boolean {
    const { type, arguments: text, search_results: found } = tool;
    const { query, url } = objectIn(String(text)) ?? {};
    let action: WebAction | undefined;
    if (type === 'search' && typeof query === 'string') action = { type: 'search', query, queries: [query] };
    else if (typeof url === 'string' && /^visit/.test(String(type))) action = { type: 'open_page', url };
    // Other tools do not look at the web.
    if (!action || (!this.begun.has(tool.index) && this.begun.size === MAX_TOOLS)) return false;
    const search = `executed_${tool.index}`;
    if (!this.begun.has(tool.index)) events.push({ type: 'search-start', search, action });
    this.begun.add(tool.index);
    const sources = pageSources(isRecord(found) ? found.results : undefined);
    if (this.ended.has(tool.index) || (!tool.output && sources.length === 0)) return true;
    this.ended.add(tool.index);
    events.push({ type: 'search-end', search, failed: false, sources });
    return true;
  }
}
