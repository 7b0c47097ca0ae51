/** The request of `POST /chat/completions`: only the fields that this server reads are checked, the model server checks the rest. */
import type { z } from 'zod';
import { bodyFields } from '../../../protocol/json/json-shape.ts';
import { lazily } from '../../../protocol/json/lazy-schema.ts';
import { listSchema } from '../../../protocol/json/schema-kinds.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { RequestLimits } from '../../../protocol/responses/bring-limits.ts';
import { invalid } from '../../../protocol/responses/invalid.ts';
import { refuseMany } from '../../endpoint/request-limits.ts';

/** The fields that are checked. */
export const chatSchema = lazily((z) => {
  const messages = listSchema(z.object({ role: z.string() }));
  return z.object({
    model: z.string().min(1),
    messages: messages.refine((list) => list.length > 0, 'it must not be empty'),
    stream: z.boolean().nullish(),
    n: z.int().min(1).nullish(),
    // Mistral's SDK sends functions without a type.
    tools: listSchema(z.object({ type: z.string().nullish() })).nullish(),
    functions: listSchema(z.object({ name: z.string() })).nullish(),
    stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  });
});

/** A checked body, with all its other fields. */
export type ChatBody = Readonly<Record<string, unknown>> &
  Pick<z.infer<ReturnType<typeof chatSchema>>, 'model' | 'stream'> & {
    readonly messages: readonly (Readonly<Record<string, unknown>> & { readonly role: string })[];
  };

/** Throws `ApiError` naming the field at fault. A `reasoning` of nulls is left out: model servers refuse it. */
export function validateChat(given: unknown, limits: RequestLimits): ChatBody {
  const body = bodyFields(given, limits);
  refuseMany(body, limits);
  const result = chatSchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  // The casts: the schema has validated it.
  if (!isBlank(body.reasoning)) return body as ChatBody;
  const { reasoning: _, ...rest } = body;
  return rest as ChatBody;
}

function isBlank(reasoning: unknown): boolean {
  if (!isRecord(reasoning)) return reasoning === null;
  const values = Object.values(reasoning);
  return values.length > 0 && values.every((value) => value === null);
}
