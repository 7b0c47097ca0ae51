/** The wordings of a context that is too short, one by one, and what is none of them. */
import { isContextOverflow, OVERFLOW_WORDINGS } from '../../../src/protocol/upstream-errors/context-overflow.ts';
import { upstreamError } from '../../../src/protocol/upstream-errors/upstream-error.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

const flat = (message: string, code: unknown = 400) => ({
  object: 'error',
  message,
  type: 'BadRequestError',
  param: null,
  code,
});
const nested = (message: string, more: object = {}) => ({ error: { message, type: 'invalid_request_error', ...more } });

/** What servers answer, as their sources and their users' reports have it. */
const ANSWERS: readonly (readonly [server: string, status: number, body: unknown])[] = [
  [
    'Bedrock',
    400,
    {
      message:
        'The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
    },
  ],
  [
    'Cloudflare',
    413,
    {
      errors: [
        {
          message:
            'AiError: AiError: The estimated number of input and maximum output tokens (155740) exceeded this model context window limit (128000).',
          code: 5021,
        },
      ],
      success: false,
      result: {},
      messages: [],
    },
  ],
  [
    'GitHub Models',
    413,
    { error: { code: 'tokens_limit_reached', message: 'Request body too large for x model. Max size: 8000 tokens.' } },
  ],
  ['NVIDIA', 400, nested('Input value error: prompt has 140000 tokens, but max supported context length is 131072')],
  ['Z.AI', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
  ['Z.AI', 400, { error: { code: '1261', message: 'Prompt 超长' } }],
  [
    'Volcengine',
    400,
    { error: { code: 'InvalidParameter', message: 'Total tokens of image and text exceed max message tokens.' } },
  ],
  ['Snowflake', 400, { message: 'max tokens of 128000 exceeded: prompt has 140000 tokens' }],
  [
    'vLLM',
    400,
    nested(
      "You passed 9000 input tokens and requested 100 output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of 8092 tokens.",
      { param: 'input_tokens', code: 400 },
    ),
  ],
  ['AI21', 422, { detail: 'Prompt tokens limit exceeded: 262144. Your prompt has 300000 tokens' }],
  [
    'Cohere',
    400,
    {
      message:
        'too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 140000. Try using a shorter prompt',
    },
  ],
  ['MiniMax', 400, { base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit' } }],
  ['Moonshot', 400, nested('input length too long')],
  [
    'OpenAI',
    400,
    nested('Your input exceeds the context window of this model. Please adjust your input and try again.', {
      param: 'input',
      code: 'context_length_exceeded',
    }),
  ],
  [
    'OpenAI',
    400,
    nested(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8202 tokens. Please reduce the length of the messages.",
      { param: 'messages', code: 'context_length_exceeded' },
    ),
  ],
  [
    'vLLM',
    400,
    flat(
      "This model's maximum context length is 131072 tokens. However, you requested 156632 tokens (152536 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
    ),
  ],
  [
    'vLLM',
    400,
    nested(
      "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
      { type: 'BadRequestError', code: 400 },
    ),
  ],
  [
    'vLLM',
    400,
    flat(
      'The decoder prompt (length 40960) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    ),
  ],
  ['vLLM', 400, flat("Input length (265330) exceeds model's maximum context length (262144).")],
  ['SGLang', 400, flat("The input (61709 tokens) is longer than the model's context length (40960 tokens).")],
  [
    'SGLang',
    400,
    flat(
      "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 36000 tokens from the input messages and 4000 tokens for the completion.",
    ),
  ],
  [
    'SGLang',
    400,
    flat(
      'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.',
    ),
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 1407,
        n_ctx: 256,
      },
    },
  ],
  [
    'llama.cpp',
    500,
    {
      error: {
        code: 500,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'server_error',
      },
    },
  ],
  ['llama.cpp', 500, { error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } }],
  ['llama-cpp-python', 400, nested('Requested tokens (2285) exceed context window of 2048', { code: null })],
  [
    'LM Studio',
    400,
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    },
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
    },
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Reached context length of 4096 tokens with model (arch: qwen2) that does not currently support mid-generation context overflow.',
    },
  ],
  ['Ollama', 400, nested('prompt too long; exceeded max context length by 4 tokens', { type: 'api_error' })],
  ['Ollama', 500, nested('the input length exceeds the context length', { type: 'api_error' })],
  [
    'TGI',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 6204 `inputs` tokens and 2047 `max_new_tokens`',
      error_type: 'validation',
    },
  ],
  [
    'TGI',
    422,
    {
      error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 4545',
      error_type: 'validation',
    },
  ],
  [
    'DeepSeek',
    400,
    nested(
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).",
      { code: 'invalid_request_error' },
    ),
  ],
  [
    'Mistral',
    400,
    flat(
      'Prompt contains 240000 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
      '3051',
    ),
  ],
  ['Groq', 413, nested('Please reduce the length of the messages or completion.', { param: 'messages' })],
  [
    'OpenRouter',
    400,
    {
      error: {
        code: 400,
        message:
          "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (149000 of text input, 1000 in the output).",
      },
    },
  ],
  [
    'OpenRouter',
    400,
    {
      error: {
        code: 400,
        message: 'Provider returned error',
        metadata: {
          provider_name: 'X',
          raw: '{"message":"The input (9 tokens) is longer than the model\'s context length (8 tokens)."}',
        },
      },
    },
  ],
  [
    'Anthropic',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
    },
  ],
  [
    'Anthropic',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
      },
    },
  ],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
  ],
  [
    'Cohere',
    400,
    {
      message:
        'too many tokens: size limit exceeded by 25836 tokens. Try using shorter or fewer inputs. The limit for this model is 288000 tokens.',
    },
  ],
  ['Moonshot', 400, nested('Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)')],
  ['MiniMax', 400, nested('invalid params, context window exceeds limit (2013)')],
  ['Alibaba', 400, nested('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]')],
];

it.each(ANSWERS)('[F-24] %s reports it with status %s: %j', (_, status, body) => {
  const { code, status: reported, type, message } = upstreamError(status, body);
  expect([code, reported, type, message.length > 0]).toEqual([
    'context_length_exceeded',
    400,
    'invalid_request_error',
    true,
  ]);
});

it.each([
  [{ code: 'context_length_exceeded' }],
  [{ code: 'model_context_window_exceeded' }],
  [{ type: 'exceed_context_size_error' }],
])('[F-24] is recognised by %j, whatever words stand beside it', (more) => {
  expect(upstreamError(400, nested('Other words.', more)).code).toBe('context_length_exceeded');
});

it('[F-24] has an answer for every wording, and a wording for every answer that has no code', () => {
  const written = ANSWERS.map(([, , body]) => JSON.stringify(body).toLowerCase());
  const unsaid = OVERFLOW_WORDINGS.filter(
    ({ words }) => !written.some((text) => words.every((each) => text.includes(each))),
  );
  expect(unsaid).toEqual([]);
});

it.each<[string, number, unknown, string]>([
  [
    'a rate of tokens',
    429,
    nested(
      'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. Please reduce the length of the messages or completion.',
      { code: 'rate_limit_exceeded' },
    ),
    'rate_limit_exceeded',
  ],
  ['too many requests', 429, flat('Too many tokens, please wait before trying again.'), 'rate_limit_exceeded'],
  ['a key that is none', 401, nested('The prompt is too long a word for a key.'), 'invalid_api_key'],
  ['a model that is not there', 404, nested('No model with a maximum context length of 1 token.'), 'not_found'],
  [
    'max_tokens over the output of a model',
    400,
    nested('max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens'),
    'invalid_request',
  ],
  [
    'a schema',
    400,
    nested("Invalid schema for function 'f': In context=(), 'required' is required."),
    'invalid_request',
  ],
  [
    'the words in another order',
    400,
    nested('131072 tokens: see what "requested" means in the docs.'),
    'invalid_request',
  ],
  [
    'the words of another server, turned round',
    400,
    nested('Exceed context window of requested tokens?'),
    'invalid_request',
  ],
  [
    'what stands behind the first 64 Ki characters, where a server quotes the conversation',
    400,
    nested(`Bad request: ${'x'.repeat(64 * 1024)} context size has been exceeded`),
    'invalid_request',
  ],
  ['nothing at all', 500, undefined, 'upstream_error'],
])('[F-24] is not recognised in %s', (_, status, body, code) => {
  expect(upstreamError(status, body).code).toBe(code);
});

it('[F-24] is read in proportion, however long the message is and whatever it repeats', async () => {
  await expectLinearWork(32 * 1024, (size) => {
    for (const { words } of OVERFLOW_WORDINGS) {
      const repeated = `${words[0]} `.repeat(Math.ceil(size / words.join('').length));
      isContextOverflow(undefined, undefined, repeated);
      upstreamError(400, nested(repeated));
    }
  });
});
