/** Which of its tools the client wants offered: messages may find deferred tools, add tools and take them away. */

import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';
import type { MessagesBody } from './request/schema.ts';

/** The tools after the last message's changes. Skips invalid entries, since the messages may not have been validated yet. */
export function offeredTools({ tools, messages }: MessagesBody): readonly JsonObject[] {
  const given = tools ?? [];
  // This server runs no tool search for Anthropic's, so the model is offered all of them.
  if (given.some(({ type }) => plainTextOf(type).startsWith('tool_search_tool_'))) return given;
  const all = new Map<unknown, JsonObject>(given.map((tool, index) => [tool.name ?? index, tool]));
  const hidden = new Set<unknown>();
  for (const [key, { defer_loading: isDeferred }] of all) if (isDeferred === true) hidden.add(key);
  for (const block of messages.flatMap(changesIn)) {
    const tool = isRecord(block.tool) ? block.tool : {};
    const { definition } = tool;
    if (isRecord(definition)) all.set(definition.name, definition);
    const name = block.tool_name ?? (isRecord(definition) ? definition.name : tool.name);
    if (block.type === 'tool_removal') hidden.add(name);
    else hidden.delete(name);
  }
  return hidden.size === 0 && all.size === given.length
    ? given
    : [...all].flatMap(([key, tool]) => (hidden.has(key) ? [] : [tool]));
}

const CHANGES: ReadonlySet<unknown> = new Set(['tool_reference', 'tool_addition', 'tool_removal']);

/** Results of the client's own search hold references, system messages the other changes. */
function changesIn(message: unknown): readonly JsonObject[] {
  const blocks = blocksIn(message);
  return blocks.flatMap((block) => (block.type === 'tool_result' ? blocksIn(block) : [block])).filter(isChange);
}

function isChange({ type }: JsonObject): boolean {
  return CHANGES.has(type);
}

function blocksIn(holder: unknown): readonly JsonObject[] {
  return isRecord(holder) && Array.isArray(holder.content) ? holder.content.filter(isRecord) : [];
}
