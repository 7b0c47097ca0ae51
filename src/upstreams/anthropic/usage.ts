/** Token counts as the Messages API reports them, made whole. */

import type { ModelEvent } from '../../protocol/events.ts';
import { isRecord } from '../../protocol/record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Collects the counts of one message, which come at its start and again, at last whole, at its end. */
interface UsageReader {
  /** Adds a `usage` event where there are counts. */
  take(usage: unknown, events: ModelEvent[]): void;
}

/** What was told last of each count holds; a later report may lack some. */
export function usageReader(): UsageReader {
  const counts = new Map<string, number>();
  return {
    take(usage, events) {
      if (!isRecord(usage)) return;
      for (const [name, value] of entriesOf(usage)) counts.set(name, value);
      if (counts.size > 0) events.push(usageEvent((name) => counts.get(name) ?? 0));
    },
  };
}

const NAMES = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens'];

function entriesOf(usage: Fields): readonly (readonly [string, number])[] {
  const details = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const found = [...NAMES.map((name) => [name, usage[name]] as const), ['thinking', details.thinking_tokens] as const];
  return found.filter((entry): entry is readonly [string, number] => isCount(entry[1]));
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

/** `input_tokens` lacks what was read from the cache and written to it; OpenAI's count holds all. */
function usageEvent(count: (name: string) => number): ModelEvent {
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
