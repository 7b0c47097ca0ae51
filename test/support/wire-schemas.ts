/** The wire format of the Responses API as zod schemas: every key of everything that this package sends, and no other. */
import { inspect } from 'node:util';
import { z } from 'zod';
import type { JsonObject } from '../../src/protocol/record.ts';
import { isNativeEvent, isNativeId, withoutNatives } from './native-items.ts';

const text = z.string();
const name = z.string().min(1);
const count = z.int().min(0);

const topLogProb = z.strictObject({ token: text, logprob: z.number(), bytes: z.array(z.int().min(0).max(255)) });
const logProbs = z.array(topLogProb.extend({ top_logprobs: z.array(topLogProb) }));

const urlCitation = z.strictObject({
  type: z.literal('url_citation'),
  url: name,
  title: text,
  start_index: count,
  end_index: count,
});

/** A function of a server that a search has found. */
const foundFunction = z.strictObject({
  type: z.literal('function'),
  name,
  description: text.nullable(),
  parameters: z.record(z.string(), z.unknown()),
  strict: z.null(),
  defer_loading: z.literal(true),
});

/** A tool that the client has sent, unchanged. */
const broughtTool = z.looseObject({ type: name, name, defer_loading: z.literal(true) });

const fileCitation = z.strictObject({ type: z.literal('file_citation'), file_id: name, filename: text, index: count });
const containerFileCitation = z.strictObject({
  type: z.literal('container_file_citation'),
  container_id: name,
  file_id: name,
  filename: text,
  start_index: count,
  end_index: count,
});
const annotation = z.discriminatedUnion('type', [urlCitation, fileCitation, containerFileCitation]);

const outputText = z.strictObject({
  type: z.literal('output_text'),
  text,
  annotations: z.array(annotation),
  logprobs: logProbs,
});
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: text });
const summaryText = z.strictObject({ type: z.literal('summary_text'), text });
const reasoningText = z.strictObject({ type: z.literal('reasoning_text'), text });

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']);

const item = z.discriminatedUnion('type', [
  z.strictObject({
    id: z.string().regex(/^msg_/),
    type: z.literal('message'),
    status: itemStatus,
    role: z.literal('assistant'),
    content: z.array(z.discriminatedUnion('type', [outputText, refusal])),
    phase: name.optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^rs_/),
    type: z.literal('reasoning'),
    status: itemStatus,
    summary: z.array(summaryText),
    content: z.array(reasoningText).optional(),
    encrypted_content: name.optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^fc_/),
    type: z.literal('function_call'),
    status: itemStatus,
    call_id: name,
    name,
    namespace: name.optional(),
    caller: z.looseObject({ type: name }).optional(),
    arguments: text,
  }),
  z.strictObject({
    id: z.string().regex(/^ctc_/),
    type: z.literal('custom_tool_call'),
    status: itemStatus,
    call_id: name,
    name,
    namespace: name.optional(),
    input: text,
  }),
  z.strictObject({
    id: z.string().regex(/^fco_/),
    type: z.literal('function_call_output'),
    status: itemStatus,
    call_id: name,
    output: z.union([text, z.array(z.looseObject({ type: name }))]),
    caller: z.strictObject({ type: z.literal('program'), caller_id: name }).optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^mcp_/),
    type: z.literal('mcp_call'),
    status: z.enum([...itemStatus.options, 'failed']),
    approval_request_id: name.nullable(),
    arguments: text,
    // A string in OpenAI's types, and an object on its wire.
    error: z.union([text, z.looseObject({ type: name })]).nullable(),
    name,
    output: text.nullable(),
    server_label: name,
    caller: z.strictObject({ type: z.literal('program'), caller_id: name }).optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^ci_/),
    type: z.literal('code_interpreter_call'),
    status: z.enum([...itemStatus.options, 'interpreting', 'failed']),
    container_id: z.string().regex(/^cntr_/),
    code: text,
    outputs: z
      .array(
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('logs'), logs: text }),
          z.strictObject({ type: z.literal('image'), url: name }),
        ]),
      )
      .nullable(),
    caller: z.strictObject({ type: z.literal('program'), caller_id: name }).optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^prog_/),
    type: z.literal('program'),
    call_id: name,
    code: text,
    fingerprint: text,
  }),
  z.strictObject({
    id: z.string().regex(/^pout_/),
    type: z.literal('program_output'),
    call_id: name,
    result: text,
    status: z.enum(['completed', 'incomplete']),
  }),
  z.strictObject({
    id: z.string().regex(/^mcpr_/),
    type: z.literal('mcp_approval_request'),
    arguments: text,
    name,
    server_label: name,
    caller: z.strictObject({ type: z.literal('program'), caller_id: name }).optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^mcpl_/),
    type: z.literal('mcp_list_tools'),
    status: z.enum(['in_progress', 'completed']),
    server_label: name,
    tools: z.array(
      z.strictObject({
        name,
        description: text.optional(),
        input_schema: z.record(z.string(), z.unknown()),
        annotations: z.record(z.string(), z.unknown()).optional(),
      }),
    ),
  }),
  z.strictObject({
    id: z.string().regex(/^ws_/),
    type: z.literal('web_search_call'),
    status: z.enum(['in_progress', 'completed', 'failed']),
    action: z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('search'),
        query: text,
        queries: z.array(text),
        sources: z.array(z.strictObject({ type: z.literal('url'), url: name })).optional(),
      }),
      z.strictObject({ type: z.literal('open_page'), url: text }),
      z.strictObject({ type: z.literal('find_in_page'), url: text, pattern: text }),
    ]),
    results: z
      .array(z.strictObject({ url: name.optional(), title: text.optional(), text }))
      .nullable()
      .optional(),
    encrypted_content: name.optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^ig_/),
    type: z.literal('image_generation_call'),
    status: z.enum(['in_progress', 'generating', 'completed', 'failed']),
    result: name.nullable(),
    output_format: name.optional(),
    background: name.optional(),
    quality: name.optional(),
    size: name.optional(),
    revised_prompt: text.optional(),
  }),
  z.strictObject({
    id: z.string().regex(/^tsc_/),
    type: z.literal('tool_search_call'),
    status: itemStatus,
    call_id: name.nullable(),
    execution: z.enum(['server', 'client']),
    arguments: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    id: z.string().regex(/^tso_/),
    type: z.literal('tool_search_output'),
    status: itemStatus,
    call_id: z.null(),
    execution: z.literal('server'),
    tools: z.array(
      z.union([
        z.strictObject({
          type: z.literal('namespace'),
          name,
          description: name,
          tools: z.array(z.union([foundFunction, broughtTool])),
        }),
        broughtTool,
      ]),
    ),
  }),
  z.strictObject({
    id: z.string().regex(/^sh_/),
    type: z.literal('shell_call'),
    status: itemStatus,
    call_id: name,
    action: z.strictObject({
      commands: z.array(text),
      timeout_ms: z.number().nullable(),
      max_output_length: z.number().nullable(),
    }),
    environment: z.strictObject({ type: z.literal('local') }),
  }),
  z.strictObject({
    id: z.string().regex(/^lsh_/),
    type: z.literal('local_shell_call'),
    status: itemStatus,
    call_id: name,
    action: z.strictObject({
      type: z.literal('exec'),
      command: z.array(text),
      env: z.record(z.string(), text),
      timeout_ms: z.number().optional(),
      user: text.optional(),
      working_directory: text.optional(),
    }),
  }),
  z.strictObject({
    id: z.string().regex(/^apc_/),
    type: z.literal('apply_patch_call'),
    status: z.enum(['in_progress', 'completed']),
    call_id: name,
    operation: z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('create_file'), path: text, diff: text }),
      z.strictObject({ type: z.literal('update_file'), path: text, diff: text }),
      z.strictObject({ type: z.literal('delete_file'), path: text }),
    ]),
  }),
  z.strictObject({ id: z.string().regex(/^cmp_/), type: z.literal('compaction'), encrypted_content: text }),
]);

/** The codes of OpenAI's enum and of its wire; the more exact code of this package is in another field. */
const responseError = z.strictObject({
  code: z.enum([
    'server_error',
    'rate_limit_exceeded',
    'invalid_prompt',
    'context_length_exceeded',
    'insufficient_quota',
    'usage_not_included',
    'server_is_overloaded',
    'slow_down',
  ]),
  message: name,
  type: name,
  param: text.nullable(),
  reason: name.optional(),
});

const usage = z.strictObject({
  input_tokens: count,
  input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.strictObject({ reasoning_tokens: count }),
  total_tokens: count,
});

const tool = z.union([
  z.strictObject({
    type: z.literal('function'),
    name,
    description: text.nullable(),
    parameters: z.record(z.string(), z.unknown()).nullable(),
    strict: z.boolean().nullable(),
    allowed_callers: z.array(name).nullish(),
    async: z.boolean().nullish(),
    defer_loading: z.boolean().nullish(),
    output_schema: z.record(z.string(), z.unknown()).nullish(),
  }),
  z.looseObject({ type: z.string().refine((type) => type !== 'function', 'a function tool has other keys') }),
]);

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ type: z.literal('allowed_tools'), tools: z.array(z.looseObject({ type: name })), mode: name }),
  z.looseObject({ type: z.string().refine((type) => type !== 'allowed_tools', 'allowed_tools has other keys') }),
]);

const textFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name,
    description: text.nullable(),
    schema: z.record(z.string(), z.unknown()).nullable(),
    strict: z.boolean(),
  }),
]);

/** OpenAI's two reasons, and those that end the rounds of server tools. */
const REASONS = [
  'max_output_tokens',
  'content_filter',
  'max_tool_calls',
  'max_tool_iterations',
  'repeated_tool_calls',
] as const;

const STATUSES = ['queued', 'in_progress', 'completed', 'incomplete', 'failed'] as const;

/** All 31 keys, with `status` narrowed to the values allowed here; `user` is OpenAI's own and optional. */
function resource<const Status extends readonly [string, ...string[]]>(...status: Status) {
  return z.strictObject({
    id: z.string().regex(/^resp_/),
    object: z.literal('response'),
    created_at: count,
    completed_at: count.nullable(),
    status: z.enum(status),
    incomplete_details: z.strictObject({ reason: z.enum(REASONS) }).nullable(),
    model: name,
    previous_response_id: name.nullable(),
    instructions: text.nullable(),
    output: z.array(item),
    error: responseError.nullable(),
    tools: z.array(tool),
    tool_choice: toolChoice,
    truncation: z.enum(['auto', 'disabled']),
    parallel_tool_calls: z.boolean(),
    text: z.strictObject({ format: textFormat, verbosity: name.optional() }),
    top_p: z.number(),
    presence_penalty: z.number(),
    frequency_penalty: z.number(),
    top_logprobs: count,
    temperature: z.number(),
    reasoning: z.strictObject({ effort: name.nullable(), summary: name.nullable() }).nullable(),
    usage: usage.nullable(),
    max_output_tokens: z.int().nullable(),
    max_tool_calls: z.int().nullable(),
    store: z.boolean(),
    background: z.boolean(),
    service_tier: name,
    conversation: z.strictObject({ id: name }).optional(),
    metadata: z.record(z.string(), z.string()),
    /** As in Azure's Responses API, where a filter has found something. */
    content_filters: z.array(z.looseObject({})).optional(),
    safety_identifier: name.nullable(),
    prompt_cache_key: name.nullable(),
    user: name.optional(),
  });
}

/** An event of this type: its number and its own fields. */
function event<const Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) {
  return z.strictObject({ type: z.literal(type), sequence_number: count, ...shape });
}

const inItem = { item_id: name, output_index: count };
const inContent = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };
const delta = { delta: text };
const contentPart = z.discriminatedUnion('type', [outputText, refusal, reasoningText]);
const errorBody = { type: name, code: name, message: name, param: text.nullable() };

const wireEvent = z.discriminatedUnion('type', [
  event('response.created', { response: resource('in_progress') }),
  event('response.queued', { response: resource('queued') }),
  event('response.in_progress', { response: resource('in_progress') }),
  event('response.completed', { response: resource('completed') }),
  event('response.incomplete', { response: resource('incomplete') }),
  event('response.failed', { response: resource('failed') }),
  event('response.output_item.added', { output_index: count, item }),
  event('response.output_item.done', { output_index: count, item }),
  event('response.content_part.added', { ...inContent, part: contentPart }),
  event('response.content_part.done', { ...inContent, part: contentPart }),
  event('response.output_text.delta', { ...inContent, ...delta, logprobs: logProbs }),
  event('response.output_text.done', { ...inContent, text, logprobs: logProbs }),
  event('response.output_text.annotation.added', { ...inContent, annotation_index: count, annotation }),
  event('response.refusal.delta', { ...inContent, ...delta }),
  event('response.refusal.done', { ...inContent, refusal: text }),
  event('response.reasoning_summary_part.added', { ...inSummary, part: summaryText }),
  event('response.reasoning_summary_part.done', { ...inSummary, part: summaryText }),
  event('response.reasoning_summary_text.delta', { ...inSummary, ...delta }),
  event('response.reasoning_summary_text.done', { ...inSummary, text }),
  event('response.reasoning_text.delta', { ...inContent, ...delta }),
  event('response.reasoning_text.done', { ...inContent, text }),
  event('response.reasoning.delta', { ...inContent, ...delta }),
  event('response.reasoning.done', { ...inContent, text }),
  event('response.function_call_arguments.delta', { ...inItem, ...delta }),
  event('response.function_call_arguments.done', { ...inItem, name, arguments: text }),
  event('response.custom_tool_call_input.delta', { ...inItem, ...delta }),
  event('response.custom_tool_call_input.done', { ...inItem, input: text }),
  event('response.mcp_call.in_progress', inItem),
  event('response.mcp_call_arguments.delta', { ...inItem, ...delta }),
  event('response.mcp_call_arguments.done', { ...inItem, arguments: text }),
  event('response.mcp_call.completed', inItem),
  event('response.mcp_call.failed', inItem),
  event('response.code_interpreter_call.in_progress', inItem),
  event('response.code_interpreter_call_code.delta', { ...inItem, ...delta }),
  event('response.code_interpreter_call_code.done', { ...inItem, code: text }),
  event('response.code_interpreter_call.interpreting', inItem),
  event('response.code_interpreter_call.completed', inItem),
  event('response.mcp_list_tools.in_progress', inItem),
  event('response.mcp_list_tools.completed', inItem),
  event('response.mcp_list_tools.failed', inItem),
  event('response.compaction.compacting', inItem),
  event('response.web_search_call.in_progress', inItem),
  event('response.web_search_call.searching', inItem),
  event('response.web_search_call.completed', inItem),
  event('response.image_generation_call.in_progress', inItem),
  event('response.image_generation_call.generating', inItem),
  event('response.image_generation_call.completed', inItem),
  event('response.image_generation_call.partial_image', {
    ...inItem,
    partial_image_index: count,
    partial_image_b64: name,
    output_format: name.optional(),
    background: name.optional(),
    quality: name.optional(),
    size: name.optional(),
  }),
  event('error', {
    code: name,
    message: name,
    param: text.nullable(),
    error: z.strictObject(errorBody),
  }),
  event('keepalive', {}),
  event('ping', {}),
]);

/** An event of an item that the model's own server made. */
const nativeEvent = z.looseObject({ type: name, sequence_number: count, output_index: count });

const wireResponse = resource(...STATUSES);
const wireError = z.strictObject({ error: z.strictObject(errorBody) });

/** One event of a stream. */
export type WireEvent = z.infer<typeof wireEvent>;

/** The response resource, in whatever state. */
export type WireResponse = z.infer<typeof wireResponse>;

/** One item of a response's output. */
export type WireItem = WireResponse['output'][number];

/** The body of an HTTP error. */
export type WireError = z.infer<typeof wireError>;

/** The event, whose type is now known; throws if a key is missing, wrong or unknown. */
export function expectWire(event: unknown): WireEvent {
  // The cast: its place in the stream is all that is known of it.
  if (isNativeEvent(event as JsonObject)) return parsed(nativeEvent, event, 'an event') as unknown as WireEvent;
  const { response } = event as { readonly response?: JsonObject };
  if (response === undefined) return parsed(wireEvent, event, 'an event');
  const own = parsed(wireEvent, { ...(event as object), response: withoutNativeOutput(response) }, 'an event');
  // The cast: it is of an event with a response.
  return { ...own, response: withNativeOutput((own as { response: WireResponse }).response, response) } as WireEvent;
}

/** The resource, whose type is now known; throws if one of its 31 keys is missing or anything is wrong. */
export function expectWireResponse(response: unknown): WireResponse {
  // The cast: the next line throws for anything that is no object.
  const seen = response as JsonObject;
  return withNativeOutput(parsed(wireResponse, withoutNativeOutput(seen), 'a response'), seen);
}

function withoutNativeOutput(response: JsonObject): JsonObject {
  return Array.isArray(response.output) ? { ...response, output: withoutNatives(response.output) } : response;
}

/** Puts the items back that the model's own server made. */
function withNativeOutput(own: WireResponse, { output }: JsonObject): WireResponse {
  if (!Array.isArray(output)) return own;
  const rest = own.output.values();
  return { ...own, output: output.map((item) => (isNativeId(item?.id) ? item : rest.next().value)) };
}

/** The error envelope, whose type is now known; throws if it is anything else. */
export function expectWireError(body: unknown): WireError {
  return parsed(wireError, body, 'an error');
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Error(`Not ${what} of the wire:\n${z.prettifyError(result.error)}\n${inspect(value, { depth: 8 })}`);
}
