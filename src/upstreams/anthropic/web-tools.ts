/** Converts the blocks of Anthropic's own web tools to web-search events, and back. */

import type { ModelEvent } from '../../protocol/events.ts';
import type { WebAction } from '../../protocol/items.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import { pageSources } from '../../protocol/tool-calls/web-pages.ts';
import type { Block } from './parts.ts';

/** The action of one of the tools, and the type of its result block. */
interface WebTool {
  readonly result: string;
  readonly action: (input: JsonObject) => WebAction;
}

const WEB_TOOLS: ReadonlyMap<unknown, WebTool> = new Map([
  [
    'web_search',
    {
      result: 'web_search_tool_result',
      action: ({ query }) => ({ type: 'search', query: plainText(query), queries: [plainText(query)] }),
    },
  ],
  ['web_fetch', { result: 'web_fetch_tool_result', action: ({ url }) => ({ type: 'open_page', url: plainText(url) }) }],
]);

/** A `server_tool_use` block of one of the tools, with its complete input. */
export interface WebUse {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Whether the model called the tool directly; blocks of calls made by its code are meaningless without that code. */
  readonly direct: boolean;
}

/** The block as a web tool use, if it is one; `json` is its input collected from deltas. */
export function webUse({ id, name, input, caller }: JsonObject, json = ''): WebUse | undefined {
  if (typeof id !== 'string' || typeof name !== 'string' || !WEB_TOOLS.has(name)) return undefined;
  const direct = !isRecord(caller) || caller.type === 'direct';
  return { id, name, input: objectIn(json) ?? (isRecord(input) ? input : {}), direct };
}

/** Whether the block is the result of this use. */
export function answersUse({ type }: JsonObject, { name }: WebUse): boolean {
  return WEB_TOOLS.get(name)?.result === type;
}

/** The start of the search or fetch; none if the tool is unknown. */
export function searchStart({ id, name, input }: WebUse): readonly ModelEvent[] {
  const tool = WEB_TOOLS.get(name);
  return tool ? [{ type: 'search-start', search: id, action: tool.action(input) }] : [];
}

/** Its end, with the result. */
export function searchEnd(use: WebUse, { content }: JsonObject): ModelEvent {
  const failed = isRecord(content) && String(content.type).endsWith('_error');
  const blocks = use.direct ? useBlocks(use, content) : undefined;
  return {
    type: 'search-end',
    search: use.id,
    failed,
    sources: pageSources(content),
    ...(blocks ? { state: blocks } : {}),
  };
}

/** Copies only the fields of the two blocks of a use. */
function useBlocks({ id, name, input }: WebUse, content: unknown): readonly [Block, Block] | undefined {
  const tool = WEB_TOOLS.get(name);
  const isContent = isRecord(content) || (Array.isArray(content) && content.every(isRecord));
  if (!tool || !isContent) return undefined;
  return [
    { type: 'server_tool_use', id, name, input },
    { type: tool.result, tool_use_id: id, content },
  ];
}

/** The two blocks in the provider state of an item; undefined if there are none. */
export function searchBlocks(pair: unknown): readonly [Block, Block] | undefined {
  if (!Array.isArray(pair)) return undefined;
  const [useBlock, answer] = pair;
  const use = isRecord(useBlock) ? webUse(useBlock) : undefined;
  return use && isRecord(answer) && answersUse(answer, use) ? useBlocks(use, answer.content) : undefined;
}
