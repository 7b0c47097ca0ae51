/** Usage objects of Chat Completions, summed with all their fields. */
import { readNumber } from '../../../protocol/chat-completions/usage.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';

/** Adds numbers field by field, including nested details and those that are written as text; of other fields the later one counts. */
export function addUsage(before: JsonObject | undefined, usage: JsonObject): JsonObject {
  if (!before) return usage;
  const names = [...new Set([...Object.keys(before), ...Object.keys(usage)])];
  return Object.fromEntries(names.map((name) => [name, sum(before[name], usage[name])]));
}

function sum(a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  const [before, added] = [readNumber(a), readNumber(b)];
  if (before !== undefined && added !== undefined) return before + added;
  if (isRecord(a) && isRecord(b)) return addUsage(a, b);
  return b ?? a;
}
