/** The fields that servers of both of OpenAI's APIs receive under the same names. */
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';

/** The fields as the client sent them; undefined without a value. */
export function sharedFields(request: ModelRequest): JsonObject {
  return {
    metadata: request.metadata,
    service_tier: request.serviceTier,
    safety_identifier: request.safetyIdentifier,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: request.promptCacheOptions,
    prompt_cache_retention: request.promptCacheRetention,
    moderation: request.moderation,
    user: request.user,
  };
}
