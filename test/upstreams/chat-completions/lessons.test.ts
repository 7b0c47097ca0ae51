/** What the words of a refusal teach, as servers, gateways and clouds write them. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { readLesson } from '../../../src/upstreams/chat-completions/lessons.ts';
import { type RequestSettings, USUAL } from '../../../src/upstreams/chat-completions/providers.ts';

const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }];

function lesson(refusal: unknown, body: JsonObject) {
  const said = typeof refusal === 'string' ? { error: { message: refusal } } : refusal;
  return readLesson(400, said, { model: 'm', messages: [], ...body }, USUAL);
}

type Row = readonly [server: string, refusal: unknown, body: JsonObject, settings: Partial<RequestSettings>];

const fields: readonly Row[] = [
  [
    'Moonshot',
    'invalid temperature: only 1 is allowed for this model',
    { temperature: 0.2 },
    { refusedFields: ['temperature'] },
  ],
  [
    'Moonshot, top_p',
    'invalid top_p: only 0.95 is allowed for this model',
    { top_p: 0.2 },
    { refusedFields: ['top_p'] },
  ],
  [
    'newer Claude models',
    '`temperature` is deprecated for this model.',
    { temperature: 0.2 },
    { refusedFields: ['temperature'] },
  ],
  [
    'xAI',
    { code: 'x', error: 'Model grok-4 does not support parameter reasoningEffort.' },
    { reasoning_effort: 'high' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'Ollama',
    '"llama3.2" does not support thinking',
    { reasoning_effort: 'high' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'Ollama, a value',
    'think value "low" is not supported for this model',
    { reasoning_effort: 'low' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'Gemini',
    [{ error: { message: 'Thinking level is not supported for this model.' } }],
    { reasoning_effort: 'low' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'Gemini, without thoughts',
    'Budget 0 is invalid. This model only works in thinking mode.',
    { reasoning_effort: 'none' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'OpenRouter',
    'Reasoning is mandatory for this endpoint and cannot be disabled.',
    { reasoning_effort: 'none' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'Gemini, penalties',
    'Penalty is not enabled for models/gemini-2.5-pro',
    { presence_penalty: 1 },
    { refusedFields: ['presence_penalty'] },
  ],
  [
    'Gemini, log probabilities',
    'Logprobs is not enabled for models/gemini-2.5-pro',
    { logprobs: true, top_logprobs: 3 },
    { refusedFields: ['logprobs'] },
  ],
  [
    'OpenAI',
    "The 'metadata' parameter is only allowed when 'store' is enabled.",
    { metadata: { a: 'b' } },
    { refusedFields: ['metadata'] },
  ],
  [
    'OpenAI, tiers',
    { error: { message: 'Invalid service_tier argument', param: 'service_tier' } },
    { service_tier: 'flex' },
    { refusedFields: ['service_tier'] },
  ],
  [
    'LiteLLM',
    "litellm.UnsupportedParamsError: groq does not support parameters: ['prompt_cache_key'], for model=x. To drop these, set `litellm.drop_params=True`",
    { prompt_cache_key: 'k' },
    { refusedFields: ['prompt_cache_key'] },
  ],
  [
    'LiteLLM, which tells of other models',
    "gpt-5 models don't support temperature=0.2. Only temperature=1 is supported. For gpt-5.1, temperature is supported when reasoning_effort='none'.",
    { temperature: 0.2, reasoning_effort: 'low' },
    { refusedFields: ['temperature'] },
  ],
];

const forms: readonly Row[] = [
  [
    'SGLang',
    {
      message:
        "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'xhigh'}",
    },
    { reasoning_effort: 'xhigh' },
    { efforts: ['low', 'medium', 'high'] },
  ],
  [
    'Azure',
    {
      error: {
        message: "Invalid value: 'xhigh'. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
        param: 'reasoning_effort',
      },
    },
    { reasoning_effort: 'xhigh' },
    { efforts: ['minimal', 'low', 'medium', 'high'] },
  ],
  [
    'DeepSeek',
    'Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant `minimal`, expected one of `low`, `medium`, `high`, `xhigh`, `max` at line 1 column 90',
    { reasoning_effort: 'minimal' },
    { efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  ],
  [
    'Ollama',
    'invalid reasoning value: "minimal" (must be "high", "medium", "low", or "none")',
    { reasoning_effort: 'minimal' },
    { efforts: ['none', 'low', 'medium', 'high'] },
  ],
  [
    'Zhipu',
    { error: { code: '1214', message: 'max_tokens参数非法。max_tokens取值范围为[1,4095]，range' } },
    { max_tokens: 32_000 },
    { maxOutputTokens: { '*': 4095 } },
  ],
  [
    'DashScope',
    '<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]',
    { max_tokens: 32_000 },
    { maxOutputTokens: { '*': 8192 } },
  ],
  [
    'Bedrock',
    'The maximum tokens you requested exceeds the model limit of 10000. Try again with a maximum tokens value that is lower than 10000.',
    { max_tokens: 32_000 },
    { maxOutputTokens: { '*': 10_000 } },
  ],
  [
    'Vertex',
    'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).',
    { max_tokens: 100_000 },
    { maxOutputTokens: { '*': 65_536 } },
  ],
  [
    'Anthropic by its gateways',
    'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5',
    { max_tokens: 200_000 },
    { maxOutputTokens: { '*': 64_000 } },
  ],
  [
    'Anthropic, ids',
    "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    {},
    { callIds: 'word' },
  ],
  [
    'Bedrock, ids',
    "Value 'functions.x:0' at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    {},
    { callIds: 'word' },
  ],
  [
    'Bedrock, long ids',
    "Value at 'messages.1.member.content.1.member.toolResult.toolUseId' failed to satisfy constraint: Member must have length less than or equal to 64",
    {},
    { callIds: 'long' },
  ],
  [
    'Mistral, ids',
    'Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.',
    {},
    { callIds: 'mistral' },
  ],
  ['Mistral, schemas', "Invalid tool schema: {'$ref': '#/x'}", { tools: TOOLS }, { toolSchemas: 'plain' }],
];

/** Templates and providers that insist on an order of messages. */
const orders: readonly Row[] = [
  ['Qwen', 'System message must be at the beginning.', {}, { systemMessages: 'merge' }],
  ['Mistral, system', "Unexpected role 'system' after role 'tool'", {}, { systemMessages: 'merge' }],
  [
    'Gemma',
    'Conversation roles must alternate user/assistant/user/assistant/...',
    {},
    { systemMessages: 'merge', turns: 'alternate', afterToolResults: 'assistant' },
  ],
  [
    'Devstral',
    'After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
    {},
    { systemMessages: 'merge', turns: 'alternate', afterToolResults: 'assistant' },
  ],
  ['Mistral, tools', "Unexpected role 'user' after role 'tool'", {}, { afterToolResults: 'assistant' }],
  [
    'Mistral, the end',
    'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
    {},
    { lastMessage: 'user' },
  ],
  [
    'newer Claude models, the end',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
    {},
    { lastMessage: 'user' },
  ],
];

/** The model wants thoughts back that the conversation lacks. */
const lost: readonly Row[] = [
  [
    'DeepSeek',
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    { reasoning_effort: 'low' },
    { reasoningRequired: true },
  ],
  [
    'Moonshot',
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
    {},
    { reasoningRequired: true },
  ],
  [
    'Gemini',
    [
      {
        error: { code: 400, message: 'Function call `f` in the `2.` content block is missing a `thought_signature`.' },
      },
    ],
    {},
    { callSignature: 'skip_thought_signature_validator' },
  ],
  [
    'Gemini behind a gateway',
    { error: { message: 'Provider returned error', metadata: { raw: '{"message":"missing a thought_signature"}' } } },
    {},
    { callSignature: 'skip_thought_signature_validator' },
  ],
];

/** What depends on the request, and so is not remembered for others. */
const once: readonly Row[] = [
  [
    'llama.cpp, the end',
    'Assistant response prefill is incompatible with enable_thinking.',
    {},
    { lastMessage: 'user' },
  ],
  [
    'Claude, of calls that another model made',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.',
    { reasoning_effort: 'low' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'Groq, whose models think or do not',
    '`reasoning_effort` must be one of `none` or `default`',
    { reasoning_effort: 'high' },
    { refusedFields: ['reasoning_effort'] },
  ],
  [
    'Bedrock',
    '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    { temperature: 0.2, top_p: 0.3 },
    { refusedFields: ['top_p'] },
  ],
  [
    'Claude',
    '`temperature` may only be set to 1 when thinking is enabled.',
    { temperature: 0.2 },
    { refusedFields: ['temperature'] },
  ],
  [
    'Claude, top_p',
    '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.',
    { top_p: 0.2 },
    { refusedFields: ['top_p'] },
  ],
  [
    'Azure',
    { error: { message: "Invalid value: '24h'. Supported values are: 'in_memory'.", param: 'prompt_cache_retention' } },
    { prompt_cache_retention: '24h' },
    { refusedFields: ['prompt_cache_retention'] },
  ],
  [
    'TGI',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 38 `inputs` tokens and 8192 `max_new_tokens`',
    { max_tokens: 8192 },
    { maxOutputTokens: { '*': 8155 } },
  ],
];

const final: readonly (readonly [string, unknown, JsonObject])[] = [
  ['tools', 'registry.ollama.ai/library/gemma3 does not support tools', { tools: TOOLS }],
  [
    'the choice of a tool',
    'The tool_choice parameter does not support being set to required in thinking mode',
    { tools: TOOLS, reasoning_effort: 'low' },
  ],
  [
    'a value out of range',
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 5 instead.",
    { temperature: 5 },
  ],
  ['images', 'This model does not support image input', { temperature: 1 }],
  ['a long prompt', 'prompt is too long: 9000 tokens > 8000 maximum', { max_tokens: 16_000 }],
  ['a number that is no limit', 'Error 42: max_tokens is too large', { max_tokens: 16_000 }],
];

describe('a refusal', () => {
  it.each([...orders, ...lost])(
    '[V-22] teaches what its server wants to be given, if it takes that: %s',
    (_server, refusal, body, settings) => {
      expect(lesson(refusal, body)).toMatchObject({ settings, isLasting: 'accepted' });
    },
  );

  it.each([...fields, ...forms])('[V-22] teaches what its server takes: %s', (_server, refusal, body, settings) => {
    expect(lesson(refusal, body)).toMatchObject({ settings, isLasting: true });
  });

  it.each(once)('[V-22] of some requests is met for one of them: %s', (_server, refusal, body, settings) => {
    expect(lesson(refusal, body)).toMatchObject({ settings, isLasting: false });
  });

  it('[V-22] for want of reasoning teaches nothing where the host sends none back, or it is sent already', () => {
    const said = { error: { message: 'The `reasoning_content` in the thinking mode must be passed back to the API.' } };
    for (const settings of [{ reasoningReplay: false }, { reasoningRequired: true }])
      expect(readLesson(400, said, { messages: [] }, { ...USUAL, ...settings })).toBeUndefined();
  });

  it.each(final)('[V-22] of what may not be left out teaches nothing: %s', (_what, refusal, body) => {
    expect(lesson(refusal, body)).toBeUndefined();
  });
});
