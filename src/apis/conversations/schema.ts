/** The bodies of the conversation endpoints. */

import type { Limits } from '../../ports/limits.ts';
import { ApiError } from '../../protocol/errors.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { invalid, refuseLong, wrongTypeMessage } from '../../protocol/responses/invalid.ts';
import { metadataSchema } from '../../protocol/responses/schema.ts';
import { checkItems } from '../../protocol/responses/validate.ts';

/** OpenAI's maximum number of items that one request may add. */
export const MAX_ITEMS = 20;

const bodySchema = lazily((z) => z.object({ metadata: metadataSchema().nullish() }));

/** The fields with which a conversation is created or changed; both may be missing. */
export interface ConversationBody {
  readonly metadata: Readonly<Record<string, string>>;
  readonly items: readonly JsonObject[];
}

/** The limits of a body, and whether its items may name uploaded files. */
export type ConversationLimits = Limits & { readonly hasUploads: boolean };

/** The checked body; a missing one is treated as empty. Throws `ApiError` naming the field at fault. */
export function validateConversation(sent: unknown, limits: ConversationLimits): ConversationBody {
  const body = bodyFields(sent === undefined ? {} : sent, limits);
  const result = bodySchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const { items = null } = body;
  if (items !== null) {
    if (!Array.isArray(items))
      throw new ApiError('invalid_type', wrongTypeMessage('items', 'an array of items', items), { param: 'items' });
    refuseLong('items', items.length, MAX_ITEMS);
    checkItems(items, 'items', limits.hasUploads);
  }
  return { metadata: result.data.metadata ?? {}, items: items ?? [] };
}

/** The same for a required field; `null` takes the metadata away. */
export function validateRequired(
  body: unknown,
  field: 'items' | 'metadata',
  limits: ConversationLimits,
): ConversationBody {
  const valid = validateConversation(body, limits);
  // An empty body has passed as well.
  if (isRecord(body) && (field === 'metadata' ? body[field] !== undefined : Array.isArray(body[field]))) return valid;
  throw new ApiError('missing_required_parameter', `Missing required parameter: '${field}'.`, { param: field });
}
