/** Client items as OpenAI lists them: with OpenAI's defaults for omitted fields. */
import type { Item } from '../items.ts';
import { isPresent, isRecord } from '../record.ts';

/**
 * The item with the `detail` of its images, which OpenAI's types always have; the same object if nothing was omitted.
 */
export function wholeItem(item: Item): Item {
  const field = Array.isArray(item.output) ? 'output' : 'content';
  const parts = item[field];
  if (!Array.isArray(parts) || !parts.some(lacksDetail)) return item;
  return { ...item, [field]: parts.map((part) => (lacksDetail(part) ? { ...part, detail: 'auto' } : part)) };
}

function lacksDetail(part: unknown): part is Readonly<Record<string, unknown>> {
  return isRecord(part) && part.type === 'input_image' && !isPresent(part.detail);
}
