/** Who answered, as a model server says it. */
import type { ModelEvent } from '../events.ts';

/** Characters of a model's name and of a tier's; longer ones are none. */
const LONGEST = 256;

/** Undefined where it says neither. */
export function modelInfo(model: unknown, serviceTier: unknown): ModelEvent | undefined {
  const named = isName(model) ? { model } : {};
  const tiered = isName(serviceTier) ? { serviceTier } : {};
  const info = { ...named, ...tiered };
  return Object.keys(info).length > 0 ? { type: 'model-info', ...info } : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST;
}
