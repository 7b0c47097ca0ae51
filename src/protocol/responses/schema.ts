/** The request of `POST /responses` as clients really send it: OpenAI's fields, null meaning omitted, the rest tolerated. */
import { z } from 'zod';

const MAX_METADATA = 16;

const text = z.string();
const optionalText = text.nullish();
const flag = z.boolean().nullish();

/** A union whose error says what was expected. */
function either<const T extends readonly [z.ZodType, ...z.ZodType[]]>(expected: string, ...options: T) {
  return z.union(options as never, { error: expected }) as unknown as z.ZodUnion<T>;
}

/** The part types of messages and tool outputs; others are refused. */
export const partSchemas: Readonly<Record<string, z.ZodType>> = {
  input_text: z.looseObject({ text }),
  text: z.looseObject({ text }),
  output_text: z.looseObject({ text }),
  refusal: z.looseObject({ refusal: text }),
  summary_text: z.looseObject({ text }),
  reasoning_text: z.looseObject({ text }),
  input_image: z.looseObject({ image_url: optionalText, file_id: optionalText }),
  input_file: z.looseObject({
    file_data: optionalText,
    file_url: optionalText,
    file_id: optionalText,
    filename: optionalText,
  }),
  input_audio: z.looseObject({ input_audio: z.looseObject({ data: text, format: text }) }),
  input_video: z.looseObject({ video_url: text }),
};

const callId = z.string().min(1);

/** The item types that are looked into, but for their parts; all others are kept as they are. */
export const itemSchemas: Readonly<Record<string, z.ZodType>> = {
  message: z.looseObject({ role: z.enum(['user', 'assistant', 'system', 'developer']) }),
  function_call: z.looseObject({ call_id: callId, name: z.string().min(1), arguments: text }),
  function_call_output: z.looseObject({ call_id: callId }),
  custom_tool_call: z.looseObject({ call_id: callId, name: z.string().min(1), input: text }),
  custom_tool_call_output: z.looseObject({ call_id: callId }),
  mcp_approval_response: z.looseObject({
    approval_request_id: z.string().min(1),
    approve: z.boolean(),
    reason: optionalText,
  }),
  item_reference: z.looseObject({ id: z.string().min(1) }),
  compaction: z.looseObject({ encrypted_content: text }),
  reasoning: z.looseObject({
    summary: z.array(z.looseObject({ text })).nullish(),
    content: z.array(z.looseObject({ text })).nullish(),
  }),
  mcp_call: z.looseObject({ id: z.string().min(1), name: text, arguments: text }),
  code_interpreter_call: z.looseObject({ id: z.string().min(1), code: optionalText }),
};

/** Where an item has its parts, and whether it must have them. */
export const partFields: Readonly<Record<string, { readonly field: string; readonly required: boolean }>> = {
  message: { field: 'content', required: false },
  function_call_output: { field: 'output', required: true },
  custom_tool_call_output: { field: 'output', required: true },
};

/** A list whose members are only looked for: checking each of millions would take longer than the rest. */
const list = z.custom<readonly unknown[]>(Array.isArray, 'it must be an array');

/** The tools that are looked into; others are kept as they are. */
export const toolSchemas: Readonly<Record<string, z.ZodType>> = {
  function: z.looseObject({
    type: z.literal('function'),
    name: z.string().min(1).max(64),
    description: optionalText,
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: flag,
  }),
  custom: z.looseObject({ name: z.string().min(1), description: optionalText }),
  code_interpreter: z.looseObject({
    container: either('a container id or an object', text, z.looseObject({ file_ids: list.nullish() })).nullish(),
  }),
  namespace: z.looseObject({ name: z.string().min(1), tools: list }),
};

const toolChoice = either('a string or an object', z.enum(['auto', 'none', 'required']), z.looseObject({ type: text }));

const textFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    name: z.string().min(1).max(64),
    description: optionalText,
    schema: z.record(z.string(), z.unknown()).nullish(),
    strict: flag,
  }),
]);

/** Up to 16 pairs of short texts. */
export const metadataSchema = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= MAX_METADATA, `it must hold at most ${MAX_METADATA} pairs`);

/** The body but for its input and tools, which are checked one by one; what it does not name is ignored. */
export const createSchema = z.object({
  model: z.string().min(1),
  instructions: optionalText,
  previous_response_id: optionalText,
  stream: flag,
  store: flag,
  background: flag,
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: flag,
  max_tool_calls: z.int().min(1).nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  include: list.nullish(),
  text: z.looseObject({ format: textFormat.nullish(), verbosity: optionalText }).nullish(),
  reasoning: z.looseObject({ effort: optionalText, summary: optionalText, generate_summary: optionalText }).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  metadata: metadataSchema.nullish(),
  service_tier: optionalText,
  safety_identifier: z.string().max(64).nullish(),
  prompt_cache_key: optionalText,
  user: optionalText,
  conversation: either('a conversation id or an object with one', text, z.looseObject({ id: text })).nullish(),
  prompt: z.unknown().optional(),
  context_management: z
    .array(z.looseObject({ type: z.enum(['compaction']), compact_threshold: z.int().min(1000).nullish() }))
    .nullish(),
});

/** The validated body. */
export type CreateBody = z.infer<typeof createSchema>;
