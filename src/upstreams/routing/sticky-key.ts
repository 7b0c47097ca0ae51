/** The key that keeps the calls of one conversation on one server: its cache key, or else its beginning, the prefix that servers cache. */
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** Characters of the beginning that count, and messages that are looked at for them. */
const LONGEST = 2048;
const MOST_MESSAGES = 8;
const MOST_PARTS = 8;

/** The key of a model request. */
export function stickyKeyOf({ model, promptCacheKey, instructions = '', items }: ModelRequest): string {
  return promptCacheKey ?? keyOf([model, instructions], items);
}

/** The key of a Chat Completions body. */
export function stickyKeyOfBody({ model, prompt_cache_key: key, messages }: JsonObject): string {
  if (typeof key === 'string') return key;
  return keyOf([String(model)], Array.isArray(messages) ? messages : []);
}

/** Everything up to the first words of the user: what follows differs from one turn to the next. */
function keyOf(texts: readonly string[], messages: readonly unknown[]): string {
  const beginning = [...texts];
  for (const message of messages.slice(0, MOST_MESSAGES)) {
    if (!isRecord(message)) continue;
    beginning.push(textOf(message.content));
    if (message.role === 'user') break;
  }
  return beginning.map((text) => text.slice(0, LONGEST)).join('\0');
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content.slice(0, MOST_PARTS) : [];
  return parts.map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')).join('\0');
}
