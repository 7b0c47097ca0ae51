/** Writes the request that goes on after a pause: the first one, with what was said since as the assistant's words. */

import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { Pause } from './decoder.ts';
import type { Message } from './messages.ts';

/** The body; undefined where there is nothing that could be given back, or no token left of the client's own `limit`. */
export function continuedBody(
  fields: JsonObject,
  { content, container, outputTokens }: Pause,
  limit: number | undefined,
): JsonObject | undefined {
  const left = limit === undefined ? undefined : limit - outputTokens;
  if (!content || (left !== undefined && left <= budgetOf(fields))) return undefined;
  return {
    ...fields,
    ...(left === undefined ? {} : { max_tokens: left }),
    ...(container === undefined ? {} : { container }),
    // The cast: the body is of our own making.
    messages: withContent(fields.messages as readonly Message[], content),
  };
}

/** The wire takes no limit that leaves no room beside the thoughts. */
function budgetOf({ thinking }: JsonObject): number {
  return isRecord(thinking) ? Number(thinking.budget_tokens ?? 0) : 0;
}

/** Neighbours of one role are one message. */
function withContent(messages: readonly Message[], content: Message['content']): readonly Message[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return [...messages, { role: 'assistant', content }];
  return [...messages.slice(0, -1), { ...last, content: [...last.content, ...content] }];
}
