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
  // The cast: this server wrote the body itself.
  const messages = fields.messages as readonly Message[];
  const last = messages.at(-1);
  const continued = { role: 'assistant', content: [...(last?.role === 'assistant' ? last.content : []), ...content] };
  return {
    ...fields,
    ...(left === undefined ? {} : { max_tokens: left }),
    ...(container === undefined ? {} : { container }),
    // One message: the API refuses two of one role.
    messages: last?.role === 'assistant' ? [...messages.slice(0, -1), continued] : [...messages, continued],
  };
}
