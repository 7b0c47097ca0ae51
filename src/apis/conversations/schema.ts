/** The bodies of the conversation endpoints. */
import { z } from 'zod';
import { refuseDepth } from '../../protocol/depth.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import { expectedInstead, invalid } from '../../protocol/responses/invalid.ts';
import { metadataSchema } from '../../protocol/responses/schema.ts';
import { checkItems } from '../../protocol/responses/validate.ts';

type Fields = Readonly<Record<string, unknown>>;

/** How many items one request may add, as at OpenAI. */
const MAX_ITEMS = 20;

const bodySchema = z.looseObject({ metadata: metadataSchema.nullish() });

/** What a conversation is made or changed with; both may be missing. */
export interface ConversationBody {
  readonly metadata: Readonly<Record<string, string>>;
  readonly items: readonly Fields[];
}

/** The checked body; none at all is an empty one. Throws `ApiError` naming the field at fault. */
export function validateConversation(body: unknown = {}): ConversationBody {
  if (!isRecord(body)) throw new ApiError('invalid_json', 'The request body must be a JSON object.');
  refuseDepth(body);
  const result = bodySchema.safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  return { metadata: result.data.metadata ?? {}, items: itemList(body.items) };
}

/** The same where the field must be there. */
export function needed(body: unknown, field: 'items' | 'metadata'): ConversationBody {
  const checked = validateConversation(body);
  // An empty body has passed as well.
  if (isRecord(body) && body[field] !== undefined && body[field] !== null) return checked;
  throw new ApiError('missing_required_parameter', `Missing required parameter: '${field}'.`, { param: field });
}

function itemList(items: unknown): readonly Fields[] {
  if (items === undefined || items === null) return [];
  if (!Array.isArray(items))
    throw new ApiError('invalid_type', expectedInstead('items', 'an array of items', items), { param: 'items' });
  if (items.length > MAX_ITEMS) throw tooMany(items.length);
  checkItems(items, 'items');
  return items;
}

function tooMany(count: number): ApiError {
  const message = `Invalid 'items': array too long. Expected an array with maximum length ${MAX_ITEMS}, but got an array with length ${count} instead.`;
  return new ApiError('array_above_max_length', message, { param: 'items' });
}
