/** What each provider takes: nothing that it refuses goes out, and a refusal of an unknown server is met once. */

import { type ChatCompletionsOptions, chatCompletionsUpstream, type Note } from '../../../src/index.ts';
import type { ModelEvent } from '../../../src/protocol/events.ts';
import type { Item } from '../../../src/protocol/items.ts';
import type { ModelRequest } from '../../../src/protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../../src/protocol/record.ts';
import {
  chatCompletion,
  type FakeRequest,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../../src/testing/index.ts';
import { readLesson } from '../../../src/upstreams/chat-completions/lessons.ts';
import {
  PROVIDERS,
  type Provider,
  type ProviderSettings,
  USUAL,
} from '../../../src/upstreams/chat-completions/providers.ts';
import { LearnedSettings } from '../../../src/upstreams/http/refusals/learned-settings.ts';

let fake: FakeUpstream;
let closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  fake = await startFakeUpstream({ reply: { body: textStream('ok') } });
  closing = [fake.close];
});
afterEach(async () => {
  await Promise.all(closing.map((close) => close()));
});

const tool = (name: string, description = 'A tool.') => ({
  name,
  description,
  parameters: { type: 'object', properties: {} },
});
const message = (role: string, content: unknown) =>
  ({ type: 'message', role, content }) as ModelRequest['items'][number];

async function ask(
  options: ChatCompletionsOptions | ReturnType<typeof chatCompletionsUpstream>,
  request: Partial<ModelRequest> = {},
) {
  const upstream =
    'stream' in options ? options : chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '', ...options });
  if (!('stream' in options)) closing.push(() => upstream.close());
  const notes: Note[] = [];
  const whole: ModelRequest = { model: 'm', items: [message('user', 'Hi.')], tools: [], ...request };
  const events: ModelEvent[] = [];
  for await (const batch of upstream.stream(whole, { ...CALL, note: (note) => notes.push(note) }))
    events.push(...batch);
  return { events, notes: notes.map((note) => note.message), body: bodies().at(-1) ?? {} };
}

const CALL = {
  signal: new AbortController().signal,
  headers: new Headers(),
  limits: {
    firstByteTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
    eventBytes: 1 << 20,
    outputBytes: 1 << 20,
    toolIterations: 5,
  },
};

function bodies(): readonly JsonObject[] {
  return fake.requests.map(({ body }: FakeRequest) => (isRecord(body) ? body : {}));
}

/** A server that refuses what `fault` finds. */
function refusing(fault: (body: JsonObject) => unknown, status = 400): void {
  fake.reply((request: FakeRequest) => {
    const body = isRecord(request.body) ? request.body : {};
    const error = fault(body);
    if (error !== undefined)
      return { status, body: JSON.stringify(error), headers: { 'content-type': 'application/json' } };
    return { body: body.stream === false ? chatCompletion('ok') : textStream('ok') };
  });
}

const EVERYTHING: Partial<ModelRequest> = {
  temperature: 0.5,
  topP: 0.5,
  topK: 5,
  topLogprobs: 2,
  presencePenalty: 1,
  frequencyPenalty: 1,
  verbosity: 'low',
  reasoningEffort: 'minimal',
  metadata: { a: 'b' },
  serviceTier: 'flex',
  safetyIdentifier: 's',
  promptCacheKey: 'k',
  promptCacheOptions: { mode: 'implicit' },
  promptCacheRetention: '24h',
  user: 'u',
  stopSequences: ['.'],
  tools: [tool('look')],
  parallelToolCalls: true,
};

describe('the settings of a provider', () => {
  it.each(Object.entries<Provider>(PROVIDERS))('[V-22] send to %s nothing that it refuses', async (name, row) => {
    // The cast: the names of the table.
    const { body } = await ask(
      { provider: name as keyof typeof PROVIDERS },
      { ...EVERYTHING, maxOutputTokens: 1_000_000, model: 'deepseek-chat' },
    );
    expect(row.refusedFields.filter((field) => field in body)).toEqual([]);
    expect(row.efforts).toContain(body.reasoning_effort ?? row.efforts[0]);
    const cap = row.maxOutputTokens['deepseek-chat'] ?? 1_000_000;
    expect(body[row.maxTokensField]).toBe(cap);
  });

  it('[V-22] are options, which win over the table', async () => {
    const options: ChatCompletionsOptions = {
      provider: 'groq',
      refusedFields: ['temperature'],
      efforts: ['medium', 'high'],
      maxOutputTokens: { 'x-*': 5, '*': 10 },
      maxToolDescription: 5,
      maxToolName: 20,
      imageDetails: ['auto'],
      unstreamedFormats: [],
      toolSchemas: 'any',
      callIds: 'any',
      lastMessage: 'prefix',
      blankText: 'omit',
      reasoningField: 'reasoning_text',
      reasoningRequired: true,
    };
    const long = 'a_name_of_more_than_twenty_characters';
    const { body, notes } = await ask(options, {
      ...EVERYTHING,
      tools: [tool(long, 'Long enough.')],
      toolChoice: { name: long },
      maxOutputTokens: 100,
      items: [
        message('user', [{ type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' }]),
        message('assistant', 'Wait.'),
      ],
    });
    expect(body).toMatchObject({
      reasoning_effort: 'medium',
      max_completion_tokens: 10,
      prompt_cache_key: 'k',
      messages: [
        { content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
        { role: 'assistant', content: 'Wait.', reasoning_text: ' ', prefix: true },
      ],
    });
    expect(JSON.stringify(body.messages)).not.toContain('"detail"');
    expect([(body.tools as JsonObject[])[0], body.tool_choice]).toEqual([
      {
        type: 'function',
        function: {
          name: expect.stringMatching(/^a_name_of_m_[0-9a-f]{8}$/),
          description: 'Long…',
          parameters: { type: 'object', properties: {} },
        },
      },
      { type: 'function', function: { name: expect.stringMatching(/^a_name_of_m_[0-9a-f]{8}$/) } },
    ]);
    expect('temperature' in body).toBe(false);
    expect(notes).toHaveLength(4);
  });

  it.each([
    [{ refusedFields: ['messages'] }, /refusedFields must be a list of 'stream_options', .*got \[ 'messages' \]/],
    [{ efforts: 'low' }, /efforts must be a list of 'none'/],
    [{ maxOutputTokens: 0 }, /maxOutputTokens must be a whole number from 1, or an object/],
    [{ maxOutputTokens: { a: -1 } }, /maxOutputTokens must be/],
    [{ callIds: 'odd' }, /callIds must be one of 'any', 'short'/],
    [{ maxToolName: 3 }, /maxToolName must be a whole number from 16/],
    [{ toolSchemas: 'x' }, /toolSchemas must be one of/],
    [{ lastMessage: true }, /lastMessage must be one of/],
  ])('[V-22] are checked at creation: %j', (options, message) => {
    // The cast: wrong on purpose.
    expect(() => chatCompletionsUpstream({ baseURL: 'http://h/v1', ...(options as object) })).toThrow(message);
  });

  it('[V-22] give the answer the names of tools that the request has', async () => {
    const name = `${'n'.repeat(70)}_tool`;
    fake.reply((request: FakeRequest) => {
      const [sent] = (isRecord(request.body) ? request.body.tools : []) as readonly { function: { name: string } }[];
      return { body: toolCallStream([{ id: 'call_1', name: sent?.function.name ?? '', arguments: '{}' }]) };
    });
    const items = [
      message('user', 'Hi.'),
      { type: 'function_call', call_id: 'c', name, arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ] as unknown as ModelRequest['items'];
    const { events, body } = await ask({ provider: 'openai' }, { tools: [tool(name)], items });
    const called = events.find((event: ModelEvent) => event.type === 'tool-call-delta' && event.name !== undefined);
    expect(called).toMatchObject({ name });
    const sent = (body.tools as readonly { function: { name: string } }[])[0]?.function.name ?? '';
    expect(sent).toHaveLength(64);
    expect(JSON.stringify(body.messages)).toContain(`"name":"${sent}"`);
  });

  it('[V-22] ask for an answer in one piece where the format has no stream', async () => {
    refusing((body) => (body.response_format && body.stream ? { error: { message: 'no' } } : undefined));
    const { events, body } = await ask({ provider: 'groq' }, { textFormat: { type: 'json_object' } });
    expect([body.stream, 'stream_options' in body]).toEqual([false, false]);
    expect(events).toContainEqual({ type: 'text-delta', text: 'ok' });
  });

  it('[V-24] end a conversation as the server wants it, and leave out blank text beside calls', async () => {
    const items = [
      message('user', 'Hi.'),
      { ...message('assistant', [{ type: 'output_text', text: '\n\n' }]) },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      message('assistant', 'One moment.'),
    ] as unknown as ModelRequest['items'];
    const { body } = await ask({ provider: 'mistral', blankText: 'omit' }, { items });
    expect((body.messages as readonly JsonObject[]).map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Hi.'],
      ['assistant', null],
      ['tool', 'x'],
      ['assistant', 'One moment.'],
      ['user', 'Continue.'],
    ]);
  });

  it.each(['mistral', 'openai'] as const)(
    '[V-24] put a word of the assistant behind results, where it must follow them: %s',
    async (provider) => {
      const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
      const output = { type: 'function_call_output', call_id: 'c1', output: 'x' };
      const items = [
        message('user', 'Hi.'),
        call,
        output,
        message('user', 'Stop.'),
      ] as unknown as ModelRequest['items'];
      const { body } = await ask({ provider }, { items });
      const roles = (body.messages as readonly JsonObject[]).map(({ role, content }) => [role, content]);
      const done = provider === 'mistral' ? [['assistant', 'Done.']] : [];
      expect(roles).toEqual([['user', 'Hi.'], ['assistant', null], ['tool', 'x'], ...done, ['user', 'Stop.']]);
    },
  );

  it('[V-24] [O-11] send Z.AI no word but auto, and no tools where none may be called', async () => {
    const choices: readonly (readonly [NonNullable<ModelRequest['toolChoice']>, unknown, unknown])[] = [
      ['required', ['f', 'g'], 'auto'],
      ['auto', ['f', 'g'], 'auto'],
      [{ name: 'g' }, ['g'], 'auto'],
      ['none', undefined, undefined],
    ];
    for (const [toolChoice, names, choice] of choices) {
      const { body } = await ask({ provider: 'zhipu' }, { tools: [tool('f'), tool('g')], toolChoice });
      const tools = body.tools as readonly { readonly function: JsonObject }[] | undefined;
      expect([tools?.map(({ function: { name } }) => name), body.tool_choice]).toEqual([names, choice]);
    }
  });

  it('[V-24] give Moonshot a thought with each call', async () => {
    const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'c1', output: 'x' };
    const items = [message('user', 'Hi.'), call, output] as unknown as ModelRequest['items'];
    const { body } = await ask({ provider: 'moonshot' }, { items });
    expect((body.messages as readonly JsonObject[])[1]).toMatchObject({ role: 'assistant', reasoning_content: ' ' });
  });

  it('[V-24] give DeepSeek a thought with each message of the assistant', async () => {
    const thought = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'I think.' }],
    };
    const items = [
      message('user', 'a'),
      thought,
      message('assistant', 'b'),
      message('user', 'c'),
      message('assistant', 'd'),
      message('user', 'e'),
    ];
    const { body } = await ask({ provider: 'deepseek' }, { items: items as unknown as ModelRequest['items'] });
    expect((body.messages as readonly JsonObject[]).map(({ reasoning_content: text }) => text)).toEqual([
      undefined,
      'I think.',
      undefined,
      ' ',
      undefined,
    ]);
  });
});

describe('a refusal of a server that is not in the table', () => {
  const said = (text: string, more: JsonObject = {}) => ({
    error: { message: text, type: 'invalid_request_error', ...more },
  });

  const refusals: readonly (readonly [string, unknown, Partial<ModelRequest>, string])[] = [
    ['Groq', said("property 'prompt_cache_key' is unsupported"), { promptCacheKey: 'k' }, 'prompt_cache_key'],
    [
      'Cerebras',
      {
        message: "body.prompt_cache_key: property 'body.prompt_cache_key' is unsupported",
        param: 'validation_error',
        code: 'wrong_api_format',
      },
      { promptCacheKey: 'k' },
      'prompt_cache_key',
    ],
    [
      'NVIDIA',
      said('Validation: Unsupported parameter(s): `prompt_cache_options`'),
      { promptCacheOptions: { ttl: '5m' } },
      'prompt_cache_options',
    ],
    ['OpenAI', said('Unrecognized request argument supplied: top_k', { param: null }), { topK: 3 }, 'top_k'],
    [
      'Gemini',
      [said('Invalid JSON payload received. Unknown name "verbosity": Cannot find field.')],
      { verbosity: 'low' },
      'verbosity',
    ],
    [
      'Mistral',
      {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'stream_options', 'include_usage'],
              msg: 'Extra inputs are not permitted',
              input: true,
            },
          ],
        },
      },
      {},
      'stream_options',
    ],
    [
      'FastAPI',
      {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'safety_identifier'],
            msg: 'Extra inputs are not permitted',
            input: 'temperature',
          },
        ],
      },
      { safetyIdentifier: 's', temperature: 1 },
      'safety_identifier',
    ],
    [
      'Databricks',
      {
        error_code: 'BAD_REQUEST',
        message: '{"message":"stream_options.include_usage: Extra inputs are not permitted"}',
      },
      {},
      'stream_options',
    ],
    [
      'xAI',
      { error: 'Argument not supported on this model: presencePenalty' },
      { presencePenalty: 1 },
      'presence_penalty',
    ],
    [
      'Fireworks',
      said("Extra inputs are not permitted, field: 'prompt_cache_retention', value: '24h'"),
      { promptCacheRetention: '24h' },
      'prompt_cache_retention',
    ],
    [
      'a reasoning model',
      said(
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        { param: 'temperature' },
      ),
      { temperature: 0.2 },
      'temperature',
    ],
    [
      'a model without thoughts',
      said("Unsupported parameter: 'reasoning_effort' is not supported with this model."),
      { reasoningEffort: 'high' },
      'reasoning_effort',
    ],
  ];

  it.each(refusals)(
    '[V-22] is met once without the field that it names, and remembered: %s',
    async (_, error, request, field) => {
      refusing((body) => (field in body ? error : undefined));
      const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '' });
      closing.push(() => upstream.close());
      const first = await ask(upstream, request);
      const next = await ask(upstream, request);
      expect([first, next].map(({ events }) => events.some((event) => event.type === 'text-delta'))).toEqual([
        true,
        true,
      ]);
      expect(bodies().map((body) => field in body)).toEqual([true, false, false]);
      expect(first.notes.join()).toContain(field);
      await ask(upstream, { ...request, model: 'another' });
      expect(bodies()).toHaveLength(5);
    },
  );

  const limits: readonly (readonly [string, unknown, Partial<ModelRequest>, JsonObject])[] = [
    [
      'a range',
      said('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
      { maxOutputTokens: 32_000 },
      { max_tokens: 8192 },
    ],
    [
      'OpenAI',
      said(
        'max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.',
      ),
      { maxOutputTokens: 32_000 },
      { max_tokens: 16_384 },
    ],
    [
      'Groq',
      said(
        '`max_tokens` must be less than or equal to `8,192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
      ),
      { maxOutputTokens: 32_000 },
      { max_tokens: 8192 },
    ],
    [
      'vLLM',
      {
        object: 'error',
        message:
          "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 8192 tokens and your request has 20 input tokens (32000 > 8192 - 20).",
      },
      { maxOutputTokens: 32_000 },
      { max_tokens: 8172 },
    ],
    [
      'an older OpenAI',
      said(
        "This model's maximum context length is 8192 tokens. However, you requested 32020 tokens (20 in the messages, 32000 in the completion).",
      ),
      { maxOutputTokens: 32_000 },
      { max_tokens: 8172 },
    ],
    [
      'the name of the limit',
      said(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        { param: 'max_tokens' },
      ),
      { maxOutputTokens: 50 },
      { max_completion_tokens: 50 },
    ],
    [
      'efforts',
      said('`reasoning_effort` must be one of `low`, `medium`, or `high`'),
      { reasoningEffort: 'xhigh' },
      { reasoning_effort: 'high' },
    ],
    [
      'no effort',
      said("Input should be 'none' or 'low' for reasoning_effort"),
      { reasoningEffort: 'high' },
      { reasoning_effort: 'low' },
    ],
    [
      'a description',
      said(
        "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2784 instead.",
      ),
      { tools: [tool('f', 'x'.repeat(2784))] },
      { tools: [{ function: { description: `${'x'.repeat(1023)}…` } }] },
    ],
    [
      'formats',
      said('`response_format` does not support streaming'),
      { textFormat: { type: 'json_object' } },
      { stream: false },
    ],
    [
      'a grammar',
      said('Failed to initialize samplers: failed to parse grammar'),
      {
        tools: [
          { name: 'f', parameters: { type: 'object', properties: { a: { type: 'string', pattern: '^(?!x)' } } } },
        ],
      },
      { tools: [{ function: { parameters: { properties: { a: { type: 'string' } } } } }] },
    ],
    [
      'a schema',
      said("Invalid schema for function 'f': schema must not have 'oneOf' at the top level"),
      { tools: [{ name: 'f', parameters: { type: 'object', oneOf: [{ properties: { a: { type: 'string' } } }] } }] },
      { tools: [{ function: { parameters: { type: 'object', properties: { a: { type: 'string' } } } } }] },
    ],
  ];

  it.each(limits)('[V-22] is met once within the limit that it names: %s', async (_, error, request, wanted) => {
    fake.reply(
      { status: 400, body: JSON.stringify(error), headers: { 'content-type': 'application/json' } },
      { body: textStream('ok') },
    );
    if (wanted.stream === false) refusing((body) => (body.stream ? error : undefined));
    const { body, notes } = await ask({}, request);
    expect(bodies()).toHaveLength(2);
    expect(body).toMatchObject(wanted);
    expect(notes).not.toEqual([]);
  });

  const call: Item = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
  const output: Item = { type: 'function_call_output', call_id: 'a', output: 'Sun' };
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };

  const orders: readonly (readonly [string, number, readonly Item[], readonly JsonObject[]])[] = [
    [
      'System message must be at the beginning.',
      500,
      [message('user', 'Hi'), message('developer', 'Be brief.'), message('system', 'Be kind.')],
      [
        { role: 'system', content: 'Be brief.\n\nBe kind.' },
        { role: 'user', content: 'Hi' },
      ],
    ],
    [
      'Conversation roles must alternate user/assistant/user/assistant/...',
      400,
      [
        message('user', 'One'),
        message('developer', 'Be brief.'),
        message('user', 'Two'),
        message('assistant', 'Three'),
        message('assistant', 'Four'),
        message('user', 'Five'),
        message('user', [{ type: 'input_text', text: 'Six' }, image]),
        call,
        output,
        message('user', 'Seven'),
      ],
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'One\n\nTwo' },
        { role: 'assistant', content: 'Three\n\nFour' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Five' },
            { type: 'text', text: 'Six' },
            { type: 'image_url', image_url: { url: image.image_url } },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [{ id: 'a' }] },
        { role: 'tool', content: 'Sun' },
        { role: 'assistant', content: 'Done.' },
        { role: 'user', content: 'Seven' },
      ],
    ],
    [
      "Unexpected role 'user' after role 'tool'",
      400,
      [message('user', 'One'), call, output, message('user', 'Two')],
      [
        { role: 'user', content: 'One' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'a' }] },
        { role: 'tool', content: 'Sun' },
        { role: 'assistant', content: 'Done.' },
        { role: 'user', content: 'Two' },
      ],
    ],
    [
      'This model does not support assistant message prefill. The conversation must end with a user message.',
      400,
      [message('user', 'One'), message('assistant', 'Two')],
      [
        { role: 'user', content: 'One' },
        { role: 'assistant', content: 'Two' },
        { role: 'user', content: 'Continue.' },
      ],
    ],
  ];

  it.each(orders)(
    '[V-22] is met once in the order that it asks for, and remembered: %s',
    async (words, status, items, wanted) => {
      const refused = { status, body: JSON.stringify(said(words)), headers: { 'content-type': 'application/json' } };
      fake.reply(refused, { body: textStream('ok') });
      const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '', retries: 2 });
      closing.push(() => upstream.close());
      const { notes } = await ask(upstream, { items });
      await ask(upstream, { items });
      expect(
        bodies()
          .slice(1)
          .map(({ messages }) => messages),
      ).toMatchObject([wanted, wanted]);
      expect(notes).toHaveLength(1);
    },
  );

  it('[V-22] stands where the messages have that order already', async () => {
    refusing(() => said('System message must be at the beginning.'));
    await expect(ask({}, { items: [message('user', 'Hi')] })).rejects.toMatchObject({ status: 400 });
    expect(bodies()).toHaveLength(1);
  });

  const final: readonly (readonly [string, unknown, Partial<ModelRequest>])[] = [
    ['tools', said("Unsupported parameter: 'tools' is not supported with this model."), { tools: [tool('f')] }],
    ['tool_choice', said('tool_choice is not supported'), { tools: [tool('f')], toolChoice: 'required' }],
    ['response_format', said("Unsupported parameter: 'response_format'"), { textFormat: { type: 'json_object' } }],
    [
      'messages',
      {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'messages', 1, 'assistant', 'x'],
            msg: 'Extra inputs are not permitted',
            input: 'top_p',
          },
        ],
      },
      { topP: 0.1 },
    ],
    ['stop', said("Unsupported parameter: 'stop' is not supported with this model."), { stopSequences: ['.'] }],
    [
      'parallel_tool_calls: false',
      said('parallel_tool_calls is not supported'),
      { tools: [tool('f')], parallelToolCalls: false },
    ],
    ['moderation', said('Unknown parameter: moderation'), { moderation: { model: 'm' } }],
    ['a value out of range', said('temperature must be between 0 and 1'), { temperature: 1.5 }],
    ['a field that was not sent', said("Unsupported parameter: 'seed'"), EVERYTHING],
    [
      'a full context',
      said("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
      { maxOutputTokens: 1000 },
    ],
  ];

  it.each(final)('[V-22] stands for what changes the meaning: %s', async (_, error, request) => {
    refusing(() => error);
    await expect(ask({}, request)).rejects.toMatchObject({ status: 400 });
    expect(bodies()).toHaveLength(1);
  });

  it('[V-22] is met once only, and forgotten where that did not help', async () => {
    refusing(() => said("property 'user' is unsupported"));
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '' });
    closing.push(() => upstream.close());
    for (let turn = 0; turn < 2; turn += 1) await expect(ask(upstream, { user: 'u' })).rejects.toThrow('unsupported');
    expect(bodies().map((body) => 'user' in body)).toEqual([true, false, true, false]);
  });

  it('[V-22] adds to what an earlier one has taught', async () => {
    refusing((body) =>
      'user' in body
        ? said("'user' is unsupported")
        : 'verbosity' in body
          ? said("'verbosity' is unsupported")
          : undefined,
    );
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '' });
    closing.push(() => upstream.close());
    const request = { user: 'u', verbosity: 'low' };
    await expect(ask(upstream, request)).rejects.toThrow('verbosity');
    await ask(upstream, request);
    await ask(upstream, request);
    expect(bodies().map((body) => ['user' in body, 'verbosity' in body])).toEqual([
      [true, true],
      [false, true],
      [false, true],
      [false, false],
      [false, false],
    ]);
  });

  it("[V-22] of one client's value is not remembered for others", () => {
    const body = { service_tier: 'odd', reasoning_effort: 'odd' };
    expect(readLesson(400, said("Unsupported value: 'service_tier' does not accept 'odd'"), body, USUAL)).toMatchObject(
      {
        isLasting: false,
      },
    );
    expect(readLesson(400, said("reasoning_effort must be one of 'low', 'high'"), body, USUAL)).toBeUndefined();
  });

  it('[V-22] is remembered for an hour, for so many models, whatever clients call them', () => {
    let now = 0;
    const learned = new LearnedSettings<Partial<ProviderSettings>>(() => now);
    learned.learn('x'.repeat(1000), { refusedFields: ['user'] });
    for (let model = 0; model < 300; model += 1) learned.learn(String(model), { refusedFields: ['user'] });
    learned.learn('299', { refusedFields: ['top_k'], callIds: 'short' });
    expect(['x'.repeat(1000), '43', '44', '299'].map((model) => learned.get(model))).toEqual([
      undefined,
      undefined,
      { refusedFields: ['user'] },
      { refusedFields: ['user', 'top_k'], callIds: 'short' },
    ]);
    now = 60 * 60 * 1000;
    expect(learned.get('299')).toBeUndefined();
  });

  it('[V-22] keeps its text from everybody but the upstream', async () => {
    fake.reply({
      status: 400,
      body: JSON.stringify({ error: { message: 'No.', secret: 'sk-very-secret-key' } }),
      headers: { 'content-type': 'application/json' },
    });
    const error: unknown = await ask({}).catch((failure) => failure);
    expect(JSON.stringify(Object.getOwnPropertyDescriptors(error))).not.toContain('sk-very');
  });
});
