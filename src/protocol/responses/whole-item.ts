/** Client items as OpenAI lists them: with OpenAI's defaults for omitted fields. */
import type { Item } from '../items.ts';
import { isPresent, isRecord } from '../record.ts';

/**
 * The item with the `detail` of its images, which OpenAI's types always have; the same object if nothing was omitted.
 */
export function wholeItem(item: Item): Item {
  const field = Array.isArray(item.output) ? 'output' : 'content';
  const parts = item[field];
  if (!Array.isArray(parts)) return item;
  const whole = parts.map((part: unknown) => {
    const lacksDetail = isRecord(part) && part.type === 'input_image' && !isPresent(part.detail);
    return lacksDetail ? { ...part, detail: 'auto' } : part;
  });
  return whole.every((part, index) => part === parts[index]) ? item : { ...item, [field]: whole };
}
