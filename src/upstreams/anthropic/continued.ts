/** Writes the request that continues a paused turn: the first request plus the output so far as an assistant message. */

import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { Pause } from './decoder.ts';
import type { Message } from './messages.ts';

/** Returns the body; undefined if nothing can be sent back or no token of the client's `limit` is left. */
export function continuedBody(
  fields: JsonObject,
  { content, container, outputTokens }: Pause,
  limit: number | undefined,
): JsonObject | undefined {
  const left = limit === undefined ? undefined : limit - outputTokens;
  // The API refuses a limit that leaves no room besides thinking.
  const thinkingBudget = isRecord(fields.thinking) ? Number(fields.thinking.budget_tokens ?? 0) : 0;
  if (!content || (left !== undefined && left <= thinkingBudget)) return undefined;
  return {
    ...fields,
    ...(left === undefined ? {} : { max_tokens: left }),
    ...(container === undefined ? {} : { container }),
    // The cast: this server wrote the body itself.
    messages: withContent(fields.messages as readonly Message[], content),
  };
}

/** Merges adjacent messages of one role. */
function withContent(messages: readonly Message[], content: Message['content']): readonly Message[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return [...messages, { role: 'assistant', content }];
  return [...messages.slice(0, -1), { ...last, content: [...last.content, ...content] }];
}
