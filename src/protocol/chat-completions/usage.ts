/** Token counts as Chat Completions servers report them, made whole. */

import type { Usage } from '../events.ts';
import { isRecord } from '../record.ts';

/** Reads a `usage` object; undefined where it holds no counts. Missing details are zero, a missing total is the sum. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined;
  const input = count(value.prompt_tokens ?? value.input_tokens);
  const output = count(value.completion_tokens ?? value.output_tokens);
  const total = count(value.total_tokens) ?? (input ?? 0) + (output ?? 0);
  if (input === undefined && output === undefined && total === 0) return undefined;
  return {
    input_tokens: input ?? 0,
    input_tokens_details: { cached_tokens: cachedTokens(value), cache_write_tokens: cacheWriteTokens(value) },
    output_tokens: output ?? 0,
    output_tokens_details: { reasoning_tokens: reasoningTokens(value) },
    total_tokens: total,
  };
}

function cachedTokens(usage: Readonly<Record<string, unknown>>): number {
  const details = usage.prompt_tokens_details ?? usage.input_tokens_details;
  // DeepSeek counts its cache beside the details, not in them.
  return count(isRecord(details) ? details.cached_tokens : undefined) ?? count(usage.prompt_cache_hit_tokens) ?? 0;
}

/** OpenAI and OpenRouter count them in the details, Anthropic and those that pass its counts on beside them. */
function cacheWriteTokens(usage: Readonly<Record<string, unknown>>): number {
  const details = usage.prompt_tokens_details ?? usage.input_tokens_details;
  const inDetails = isRecord(details) ? (details.cache_write_tokens ?? details.cache_creation_tokens) : undefined;
  return count(inDetails) ?? count(usage.cache_creation_input_tokens) ?? 0;
}

function reasoningTokens(usage: Readonly<Record<string, unknown>>): number {
  const details = usage.completion_tokens_details ?? usage.output_tokens_details;
  return count(isRecord(details) ? details.reasoning_tokens : undefined) ?? count(usage.reasoning_tokens) ?? 0;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined;
}
