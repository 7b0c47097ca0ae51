/** The bodies of requests that create batches. */
import type { z } from 'zod';
import type { Limits } from '../../../ports/limits.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { bodyFields } from '../../../protocol/json/json-shape.ts';
import { lazily } from '../../../protocol/json/lazy-schema.ts';
import { listSchema } from '../../../protocol/json/schema-kinds.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import { invalid } from '../../../protocol/responses/invalid.ts';
import { metadataSchema } from '../../../protocol/responses/schema.ts';

/** OpenAI's bounds of `output_expires_after`: an hour and 30 days. */
const [MIN_SECONDS, MAX_SECONDS] = [3600, 30 * 24 * 3600];
/** Anthropic's form of ids. */
export const CUSTOM_ID = /^[\w-]{1,64}$/;

/** The bodies. */
export const batchSchemas = lazily((z) => ({
  batch: z.object({
    input_file_id: z.string(),
    endpoint: z.string(),
    completion_window: z.literal('24h'),
    metadata: metadataSchema().nullish(),
    output_expires_after: z
      .object({ anchor: z.literal('created_at'), seconds: z.int().min(MIN_SECONDS).max(MAX_SECONDS) })
      .nullish(),
  }),
  messages: z.object({ requests: listSchema(z.custom<JsonObject>((value) => typeof value === 'object', 'an object')) }),
}));

/** OpenAI's. Throws `ApiError` naming the field at fault. */
export function readNewBatch(given: unknown, limits: Limits): z.infer<ReturnType<typeof batchSchemas>['batch']> {
  const body = bodyFields(given === undefined ? {} : given, limits);
  const result = batchSchemas().batch.safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  return result.data;
}

/** One request of Anthropic's. */
export interface MessageOrder {
  readonly custom_id: string;
  readonly params: JsonObject;
}

/** Anthropic's. Throws `ApiError` naming the field at fault. */
export function readMessageOrders(given: unknown, limits: Limits, maxLines: number): readonly MessageOrder[] {
  const body = bodyFields(given === undefined ? {} : given, limits);
  const result = batchSchemas().messages.safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const { requests } = result.data;
  if (requests.length === 0)
    throw new ApiError('invalid_value', 'requests: at least one request is required.', { param: 'requests' });
  if (requests.length > maxLines) {
    const message = `requests: at most ${maxLines} requests are allowed.`;
    throw new ApiError('array_above_max_length', message, { param: 'requests' });
  }
  const ids = new Set<string>();
  return requests.map((request, index) => {
    const fail = (name: string, why: string): ApiError =>
      new ApiError('invalid_value', `requests.${index}.${name}: ${why}`, { param: `requests[${index}].${name}` });
    const { custom_id: id, params } = request ?? {};
    if (typeof id !== 'string' || !CUSTOM_ID.test(id))
      throw fail('custom_id', 'expected 1 to 64 letters, digits, hyphens and underscores.');
    if (ids.has(id)) throw fail('custom_id', `'${id}' is there twice; it must be unique in the batch.`);
    ids.add(id);
    if (typeof params !== 'object' || params === null || Array.isArray(params))
      throw fail('params', 'expected an object.');
    // The cast: just checked.
    const order: MessageOrder = { custom_id: id, params: params as JsonObject };
    if (order.params.stream) throw fail('params.stream', 'a request of a batch cannot be streamed.');
    return order;
  });
}
