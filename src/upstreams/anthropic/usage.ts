/** Token counts as the Messages API reports them, made whole. */

import type { ModelEvent } from '../../protocol/events.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** Collects the counts of a message, which come at its start and again, at last whole, at its end. */
interface UsageReader {
  /** Adds a `usage` event where there are counts. */
  take(usage: unknown, events: ModelEvent[]): void;
  /** Begins another message of the same turn, whose counts come on top of those so far. */
  next(): void;
  /** Tokens of output so far. */
  readonly output: number;
}

/** What was told last of each count holds; a later report may lack some. */
export function usageReader(): UsageReader {
  const earlier = new Map<string, number>();
  const counts = new Map<string, number>();
  const count = (name: string) => (earlier.get(name) ?? 0) + (counts.get(name) ?? 0);
  let reported: JsonObject = {};
  return {
    take(usage, events) {
      if (!isRecord(usage)) return;
      reported = { ...reported, ...usage };
      for (const [name, value] of entriesOf(usage)) counts.set(name, value);
      if (counts.size > 0) events.push({ ...usageEvent(count), reported });
    },
    next() {
      for (const name of counts.keys()) earlier.set(name, count(name));
      counts.clear();
      reported = {};
    },
    get output() {
      return count('output_tokens');
    },
  };
}

const NAMES = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens'];

function entriesOf(usage: JsonObject): readonly (readonly [string, number])[] {
  const details = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const found = [...NAMES.map((name) => [name, usage[name]] as const), ['thinking', details.thinking_tokens] as const];
  return found.filter((entry): entry is readonly [string, number] => isCount(entry[1]));
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

/** `input_tokens` lacks what was read from the cache and written to it; OpenAI's count holds all. */
function usageEvent(count: (name: string) => number): Extract<ModelEvent, { type: 'usage' }> {
  const cached = count('cache_read_input_tokens');
  const written = count('cache_creation_input_tokens');
  const input = count('input_tokens') + cached + written;
  const output = count('output_tokens');
  return {
    type: 'usage',
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: count('thinking') },
      total_tokens: input + output,
    },
  };
}
