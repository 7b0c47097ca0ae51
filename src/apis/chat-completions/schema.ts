/** The request of `POST /chat/completions`: only what this server itself reads is checked, the rest is the model server's. */
import { z } from 'zod';
import { refuseDepth } from '../../protocol/depth.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import { invalid } from '../../protocol/responses/invalid.ts';

const chatSchema = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  stream: z.boolean().nullish(),
  n: z.int().min(1).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  functions: z.array(z.looseObject({ name: z.string() })).nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});

/** A checked body, with everything it came with. */
export type ChatBody = Readonly<Record<string, unknown>> &
  Pick<z.infer<typeof chatSchema>, 'model' | 'messages' | 'stream'>;

/** Throws `ApiError` naming the field at fault. A `reasoning` that says nothing is left out: model servers refuse it. */
export function validateChat(body: unknown): ChatBody {
  if (!isRecord(body)) throw new ApiError('invalid_json', 'The request body must be a JSON object.');
  refuseDepth(body);
  const result = chatSchema.safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const { reasoning, ...rest } = body;
  // The cast: the schema has seen it.
  return (isBlank(reasoning) ? rest : body) as ChatBody;
}

function isBlank(reasoning: unknown): boolean {
  return reasoning === null || (isRecord(reasoning) && Object.values(reasoning).every((value) => value === null));
}
