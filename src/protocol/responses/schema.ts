/** The request of `POST /responses` as clients really send it: OpenAI's fields, null meaning omitted, the rest tolerated. */
import type { z } from 'zod';
import { lazily } from '../json/lazy-schema.ts';
import { either, fields, kinds, list, listSchema, textPairs } from '../json/schema-kinds.ts';
import { callItemSchemas, hostedToolSchemas } from '../tool-calls/kinds.ts';
import { DECIMAL } from './invalid.ts';

/** OpenAI's limit. */
const METADATA = { pairs: 16, keyLength: 64, valueLength: 512 };
const MAX_MANAGEMENT = 16;

// No schema copies fields that it does not name, of which there may be millions: `object`, never `looseObject`.

/** The part types of messages and tool outputs; others are refused. */
export const partSchemas = lazily((z): Readonly<Record<string, z.ZodType>> => {
  const { text, optionalText } = kinds();
  return {
    input_text: z.object({ text }),
    text: z.object({ text }),
    output_text: z.object({ text }),
    refusal: z.object({ refusal: text }),
    summary_text: z.object({ text }),
    reasoning_text: z.object({ text }),
    input_image: z.object({ image_url: optionalText, file_id: optionalText }),
    input_file: z.object({
      file_data: optionalText,
      file_url: optionalText,
      file_id: optionalText,
      filename: optionalText,
    }),
    input_audio: z.object({ input_audio: z.object({ data: text, format: text }) }),
    input_video: z.object({ video_url: text }),
  };
});

const textFormat = lazily((z) => {
  const { optionalText, flag } = kinds();
  return z.discriminatedUnion('type', [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({
      type: z.literal('json_schema'),
      name: z.string().min(1).max(64),
      description: optionalText,
      schema: fields().nullish(),
      strict: flag,
    }),
  ]);
});

/** The settings that an item of the input changes; null means unchanged. */
export const configurationSchema = lazily((z) =>
  z.object({
    reasoning: z.object({ effort: kinds().optionalText }).nullish(),
    text: z.object({ format: textFormat() }).nullish(),
  }),
);

/** The item types that are validated besides their parts; all others are kept unchanged. */
export const itemSchemas = lazily((z): Readonly<Record<string, z.ZodType>> => {
  const { text, optionalText, callId } = kinds();
  return {
    message: z.object({ role: z.enum(['user', 'assistant', 'system', 'developer']) }),
    function_call: z.object({ call_id: callId, name: z.string().min(1), arguments: text }),
    function_call_output: z.object({ call_id: callId }),
    custom_tool_call: z.object({ call_id: callId, name: z.string().min(1), input: text }),
    custom_tool_call_output: z.object({ call_id: callId }),
    shell_call: z.object({ call_id: callId, action: z.object({ commands: listSchema(text) }) }),
    shell_call_output: z.object({ call_id: callId, output: listSchema(z.object({ stdout: text, stderr: text })) }),
    local_shell_call: z.object({ call_id: callId, action: z.object({ command: listSchema(text) }) }),
    local_shell_call_output: z.object({ output: text }),
    apply_patch_call: z.object({
      call_id: callId,
      operation: z.object({ type: text, path: text, diff: optionalText }),
    }),
    apply_patch_call_output: z.object({
      call_id: callId,
      status: z.enum(['completed', 'failed']),
      output: optionalText,
    }),
    mcp_approval_response: z.object({
      approval_request_id: z.string().min(1),
      approve: z.boolean(),
      reason: optionalText,
    }),
    item_reference: z.object({ id: z.string().min(1) }),
    compaction: z.object({ encrypted_content: text }),
    configuration_update: configurationSchema(),
    reasoning: z.object({
      summary: listSchema(z.object({ text })).nullish(),
      content: listSchema(z.object({ text })).nullish(),
    }),
    ...callItemSchemas(),
  };
});

/** The fields that hold an item's parts, and whether they are required. */
export const partFields: Readonly<Record<string, { readonly field: string; readonly required: boolean }>> = {
  message: { field: 'content', required: false },
  function_call_output: { field: 'output', required: true },
  custom_tool_call_output: { field: 'output', required: true },
};

/** The tools that are validated; others are kept unchanged. */
export const toolSchemas = lazily((z): Readonly<Record<string, z.ZodType>> => {
  const { optionalText, flag } = kinds();
  return {
    function: z.object({
      type: z.literal('function'),
      name: z.string().min(1).max(64),
      description: optionalText,
      parameters: fields().nullish(),
      strict: flag,
      output_schema: fields().nullish(),
    }),
    custom: z.object({ name: z.string().min(1), description: optionalText }),
    namespace: z.object({ name: z.string().min(1), tools: list() }),
    ...hostedToolSchemas(),
  };
});

const toolChoice = lazily((z) =>
  either('a string or an object', z.enum(['auto', 'none', 'required']), z.object({ type: kinds().text })),
);

/** Up to 16 pairs of short texts. */
export const metadataSchema = lazily(() => textPairs(METADATA));

/** The body without its input and tools, which are checked one by one; unnamed fields are ignored. */
export const createSchema = lazily((z) => {
  const { text, optionalText, flag } = kinds();
  return z.object({
    model: z.string().min(1),
    instructions: optionalText,
    previous_response_id: optionalText,
    stream: flag,
    store: flag,
    background: flag,
    tool_choice: toolChoice().nullish(),
    parallel_tool_calls: flag,
    max_tool_calls: z.int().min(1).nullish(),
    max_output_tokens: z.int().min(16).nullish(),
    temperature: z.number().min(0, DECIMAL).max(2, DECIMAL).nullish(),
    top_p: z.number().min(0, DECIMAL).max(1, DECIMAL).nullish(),
    presence_penalty: z.number().min(-2, DECIMAL).max(2, DECIMAL).nullish(),
    frequency_penalty: z.number().min(-2, DECIMAL).max(2, DECIMAL).nullish(),
    top_logprobs: z.int().min(0).max(20).nullish(),
    include: list().nullish(),
    text: z.object({ format: textFormat().nullish(), verbosity: optionalText }).nullish(),
    reasoning: z.object({ effort: optionalText, summary: optionalText, generate_summary: optionalText }).nullish(),
    truncation: z.enum(['auto', 'disabled']).nullish(),
    metadata: metadataSchema().nullish(),
    service_tier: optionalText,
    safety_identifier: z.string().max(128).nullish(),
    prompt_cache_key: optionalText,
    prompt_cache_options: z.object({ mode: optionalText, ttl: optionalText }).nullish(),
    prompt_cache_retention: optionalText,
    moderation: z.object({ model: text, policy: fields().nullish() }).nullish(),
    user: optionalText,
    conversation: either('a conversation id or an object with one', text, z.object({ id: text })).nullish(),
    prompt: z.unknown().optional(),
    context_management: listSchema(
      z.object({ type: z.enum(['compaction']), compact_threshold: z.int().min(1000).nullish() }),
      MAX_MANAGEMENT,
    ).nullish(),
  });
});

/** The validated body. */
export type CreateBody = z.infer<ReturnType<typeof createSchema>>;
