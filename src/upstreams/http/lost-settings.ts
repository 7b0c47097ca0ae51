/** The settings of a request that not every API has a field for. */
import type { ModelRequest } from '../../protocol/model-request.ts';

/** Whether the request sets each of them to anything but its default, by the name that the client knows. */
const SETTINGS = {
  presence_penalty: ({ presencePenalty }: ModelRequest) => Boolean(presencePenalty),
  frequency_penalty: ({ frequencyPenalty }: ModelRequest) => Boolean(frequencyPenalty),
  top_logprobs: ({ topLogprobs }: ModelRequest) => topLogprobs !== undefined,
  'text.verbosity': ({ verbosity }: ModelRequest) => verbosity !== undefined && verbosity !== 'medium',
  'reasoning.effort': ({ reasoningEffort }: ModelRequest) => reasoningEffort !== undefined,
  'parallel_tool_calls: false': ({ parallelToolCalls, tools }: ModelRequest) =>
    parallelToolCalls === false && tools.length > 0,
  service_tier: ({ serviceTier }: ModelRequest) => serviceTier !== undefined && serviceTier !== 'auto',
  prompt_cache_options: ({ promptCacheOptions }: ModelRequest) => promptCacheOptions !== undefined,
  prompt_cache_retention: ({ promptCacheRetention }: ModelRequest) => promptCacheRetention !== undefined,
  moderation: ({ moderation }: ModelRequest) => moderation !== undefined,
  "the 'output_schema' of tools": ({ tools }: ModelRequest) => tools.some(({ outputSchema }) => outputSchema),
} satisfies Readonly<Record<string, (request: ModelRequest) => boolean>>;

/** Those of `names` that the request sets, in that order: an API without a field for them loses them. */
export function lostSettings(request: ModelRequest, names: readonly (keyof typeof SETTINGS)[]): readonly string[] {
  return names.filter((name) => SETTINGS[name](request));
}
