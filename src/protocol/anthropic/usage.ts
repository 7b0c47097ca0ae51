/** Completes the token counts that the Messages API reports. */

import { jsonWeight } from '../chat-completions/own-fields.ts';
import type { ModelEvent, Usage } from '../events.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** Collects the counts of a message, which arrive at its start and again, complete, at its end. */
interface UsageReader {
  /** Adds a `usage` event if there are counts. */
  take(usage: unknown, events: ModelEvent[]): void;
  /** Starts another message of the same turn, whose counts are added to those so far. */
  next(): void;
  /** Output tokens so far. */
  readonly output: number;
}

/** Characters of a report as it is passed on; real ones have some hundred. */
const MAX_REPORT_LENGTH = 4096;

/** The last reported value of each count is kept, because a later report may omit some. */
export function usageReader(): UsageReader {
  const earlier = new Map<string, number>();
  const counts = new Map<string, number>();
  const count = (name: string) => (earlier.get(name) ?? 0) + (counts.get(name) ?? 0);
  let reported: JsonObject = {};
  return {
    take(usage, events) {
      if (!isRecord(usage)) return;
      const all = { ...reported, ...usage };
      // Without a bound, a server that names another field in each event would fill the memory.
      if ((jsonWeight(all) ?? MAX_REPORT_LENGTH) < MAX_REPORT_LENGTH) reported = all;
      const details = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
      for (const name of COUNTS) {
        const sent = name === 'thinking' ? details.thinking_tokens : usage[name];
        // Some servers write numbers as text.
        const value = typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : sent;
        if (typeof value === 'number' && Number.isInteger(value) && value >= 0) counts.set(name, value);
      }
      if (counts.size === 0) return;
      const cached = count('cache_read_input_tokens');
      const written = count('cache_creation_input_tokens');
      // `input_tokens` excludes tokens read from and written to the cache; OpenAI's count includes them.
      const input = count('input_tokens') + cached + written;
      const output = count('output_tokens');
      const counted: Usage = {
        input_tokens: input,
        input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: count('thinking') },
        total_tokens: input + output,
      };
      events.push({ type: 'usage', usage: counted, reported });
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

const COUNTS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens', 'thinking'];
