/** The texts of items. */
import type { Part, ReasoningItem } from './items.ts';

/** The text of a part, which a refusal has under another name. */
export function partText(part: Part): string {
  return part.type === 'refusal' ? part.refusal : part.text;
}

/** The readable text of a thought. */
export function thoughtText({ summary, content = [] }: ReasoningItem): string {
  return [...summary, ...content].map(partText).join('');
}
