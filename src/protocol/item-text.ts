/** The texts of items and messages. */
import type { ReasoningItem } from './items.ts';
import { isRecord, plainText } from './record.ts';

/** The text of a part, which a refusal has under another name. */
export function partText({ text, refusal }: { readonly text?: unknown; readonly refusal?: unknown }): string {
  return plainText(text ?? refusal);
}

/** The text of a message, of all its parts if it has any. Without lists: it is read of each message of a long conversation. */
export function contentText(content: unknown): string {
  if (!Array.isArray(content)) return plainText(content);
  let text = '';
  for (const part of content) if (isRecord(part)) text += partText(part);
  return text;
}

/** The readable text of a thought. */
export function thoughtText({ summary, content = [] }: ReasoningItem): string {
  return contentText([...summary, ...content]);
}
