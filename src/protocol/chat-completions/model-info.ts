/** The model and service tier that answered, as a model server reports them. */
import type { ModelEvent } from '../events.ts';

/** Maximum characters of a model's name and of a tier's; longer ones are ignored. */
const LONGEST = 256;

/** Undefined if it reports neither. */
export function modelInfo(model: unknown, serviceTier: unknown): ModelEvent | undefined {
  const named = isName(model) ? { model } : {};
  const tiered = isName(serviceTier) ? { serviceTier } : {};
  const info = { ...named, ...tiered };
  return Object.keys(info).length > 0 ? { type: 'model-info', ...info } : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST;
}
