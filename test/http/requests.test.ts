/** What the model server is asked: every form of a request, over real HTTP, as the chat request that it becomes. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatStream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { expectValidResponse } from '../support/open-responses-schema.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';

let app: RequestApp;
const restart = requestAppPerTest((started) => {
  app = started;
});

/** The messages that the input becomes. Throws where the request is refused. */
async function messagesOf(input: unknown, fields: JsonObject = {}): Promise<readonly JsonObject[]> {
  const { status, body } = await app.create({ input, ...fields });
  if (status !== 200) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
  return app.requested().messages;
}

/** What is asked besides the model, the messages and the stream. */
async function settingsOf(fields: JsonObject): Promise<JsonObject> {
  await messagesOf('Hi.', fields);
  const { model, messages, stream, stream_options: _, ...settings } = app.requested();
  return settings;
}

async function refusalOf(body: JsonObject): Promise<unknown> {
  const { status, body: answer } = await app.create(body);
  return [status, answer.error];
}

function refused(code: string, message: unknown, param: string): unknown {
  return [400, { message, type: 'invalid_request_error', param, code }];
}

const USER = { role: 'user', content: 'Hi.' };
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather.',
  parameters: PARAMETERS,
  strict: true,
};
const CHAT_WEATHER = {
  type: 'function',
  function: { name: 'get_weather', description: 'Weather.', parameters: PARAMETERS, strict: true },
};
const OTHER = { type: 'function', name: 'other' };
const CHAT_OTHER = { type: 'function', function: { name: 'other', parameters: { type: 'object', properties: {} } } };
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

function functionCall(id: string, text = '{}'): JsonObject {
  return { type: 'function_call', call_id: id, name: 'get_weather', arguments: text };
}

function output(id: string, text: unknown): JsonObject {
  return { type: 'function_call_output', call_id: id, output: text };
}

function chatCall(id: string, text = '{}', name = 'get_weather'): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } };
}

function tool(id: string, content: string): JsonObject {
  return { role: 'tool', tool_call_id: id, content };
}

describe('input', () => {
  it('[S-03] [S-10] asks for a stream and its usage, and takes a string as one user message', async () => {
    await app.create({ input: 'Hi.' });
    expect(app.requested()).toEqual({
      model: 'fake-model',
      messages: [USER],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('[S-03] [D-21] takes bare messages of every role, as text or as parts, with or without a type', async () => {
    const parts = [
      { type: 'input_text', text: 'One' },
      { type: 'input_text', text: 'Two' },
    ];
    const written = [{ type: 'output_text', text: 'Three', annotations: [], logprobs: [] }];
    expect(
      await messagesOf(
        [
          { role: 'system', content: 'Be kind.' },
          { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
          { role: 'user', content: parts, id: 'msg_1', status: 'completed', unknown: { field: true } },
          { role: 'assistant', content: written, phase: 'commentary' },
          { role: 'assistant', content: 'Four' },
          { role: 'assistant', content: [] },
          { type: null, role: 'user', content: '' },
        ],
        { instructions: 'Be true.' },
      ),
    ).toEqual([
      { role: 'system', content: 'Be true.' },
      { role: 'system', content: 'Be kind.' },
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One\nTwo' },
      { role: 'assistant', content: 'Three' },
      { role: 'assistant', content: 'Four' },
      { role: 'user', content: '' },
    ]);
  });

  it('[S-03] skips items of unknown types and unknown references, with a note for each', async () => {
    const input = [
      { type: 'acme:thing', id: 'x' },
      { type: 'item_reference', id: 'msg_nobody_knows' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} },
      { role: 'user', content: 'Hi.' },
    ];
    expect([await messagesOf(input), app.notes]).toEqual([
      [USER],
      [
        {
          code: 'reference_skipped',
          message: "No item with id 'msg_nobody_knows' is known; the reference is skipped.",
        },
        { code: 'item_skipped', message: expect.stringContaining("'acme:thing'") },
        { code: 'item_skipped', message: expect.stringContaining("'web_search_call'") },
      ],
    ]);
  });

  it('[F-30] leaves out a second output of one call, and says just that', async () => {
    const output = { type: 'function_call_output', call_id: 'c', output: 'Sunny.' };
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const written = await messagesOf([{ role: 'user', content: 'Hi.' }, call, output, { ...output, output: 'Rain.' }]);
    expect([written.filter(({ role }) => role === 'tool').map(({ content }) => content), app.notes]).toEqual([
      ['Sunny.'],
      [{ code: 'item_skipped', message: "A second output for the call 'c' is left out." }],
    ]);
  });

  it('[S-03] finds the item that a reference names, in the history and in other stored responses', async () => {
    app.upstream.reply({ body: textStream('Once.') }, { body: textStream('Twice.') });
    const { body: first } = await app.create({ input: 'One?' });
    const { body: second } = await app.create({ input: [{ id: 'msg_own', role: 'user', content: 'Two?' }] });
    const reference = (id: unknown) => ({ type: 'item_reference', id });
    const input = [reference(first.output[0]?.id), reference('msg_own'), { role: 'user', content: 'Hi.' }];
    expect(await messagesOf(input, { previous_response_id: second.id })).toEqual([
      { role: 'user', content: 'Two?' },
      { role: 'assistant', content: 'Twice.' },
      { role: 'assistant', content: 'Once.' },
      { role: 'user', content: 'Two?' },
      USER,
    ]);
  });

  it('[S-04] passes images, files and audio on, images by URL too', async () => {
    const audio = { data: 'AAAA', format: 'wav' };
    const content = [
      { type: 'input_text', text: 'Look.' },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
      { type: 'input_image', image_url: PIXEL },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
      { type: 'input_audio', input_audio: audio },
    ];
    expect(await messagesOf([{ role: 'user', content }])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: PIXEL } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          { type: 'input_audio', input_audio: audio },
        ],
      },
    ]);
  });

  it.each([
    ['input_image', 'content', { role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }],
    ['input_file', 'content', { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }],
    ['input_image', 'output', { ...output('c', [{ type: 'input_image', file_id: 'file-1' }]), name: 'look' }],
  ])('[S-04] refuses the file id of an %s in %s clearly', async (_, field, item) => {
    expect(await refusalOf({ input: [item] })).toEqual(
      refused(
        'unsupported_parameter',
        'Uploaded files are not supported here; send a URL or a data URL.',
        `input[0].${field}[0].file_id`,
      ),
    );
  });

  it('[S-04] refuses an image and a file that say nowhere what they are', async () => {
    const ask = (part: JsonObject) => app.create({ input: [{ role: 'user', content: [part] }] });
    const answers = [await ask({ type: 'input_image' }), await ask({ type: 'input_file', filename: 'a.pdf' })];
    expect([answers.map(({ status }) => status), app.upstream.requests.length]).toEqual([[400, 400], 0]);
  });

  it('[S-04] lifts the images of a tool output into a user message behind the outputs', async () => {
    const seen = [
      { type: 'input_text', text: 'A cat.' },
      { type: 'input_image', image_url: PIXEL },
    ];
    const input = [
      functionCall('c1'),
      functionCall('c2'),
      output('c1', seen),
      output('c2', [{ type: 'input_image', image_url: PIXEL }]),
    ];
    const image = { type: 'image_url', image_url: { url: PIXEL } };
    expect(await messagesOf(input)).toEqual([
      { role: 'assistant', content: null, tool_calls: [chatCall('c1'), chatCall('c2')] },
      tool('c1', 'A cat.'),
      tool('c2', '(The output is attached in the next message.)'),
      { role: 'user', content: [image, image] },
    ]);
  });
});

describe('tools', () => {
  it('[S-05] [D-12] offers function tools as they were given', async () => {
    expect(await settingsOf({ tools: [WEATHER, OTHER], parallel_tool_calls: false })).toEqual({
      tools: [CHAT_WEATHER, CHAT_OTHER],
      parallel_tool_calls: false,
    });
  });

  it.each([
    ['auto', 'auto', 'auto'],
    ['none', 'none', 'none'],
    ['required', 'required', 'required'],
    ['a function', { type: 'function', name: 'other' }, { type: 'function', function: { name: 'other' } }],
    [
      'a function, spelled as in Chat Completions',
      { type: 'function', function: { name: 'other' } },
      { type: 'function', function: { name: 'other' } },
    ],
    ['allowed_tools', { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'other' }] }, 'auto'],
    [
      'several required allowed_tools',
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [
          { type: 'function', name: 'other' },
          { type: 'function', name: 'get_weather' },
        ],
      },
      'required',
    ],
    [
      'one required allowed tool',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'other' }] },
      { type: 'function', function: { name: 'other' } },
    ],
  ])(
    '[S-05] [A-15] [B-24] [D-12] [D-13] [M-24] passes tool_choice %s on, with all definitions',
    async (_, choice, requested) => {
      expect(await settingsOf({ tools: [WEATHER, OTHER], tool_choice: choice })).toEqual({
        tools: [CHAT_WEATHER, CHAT_OTHER],
        tool_choice: requested,
      });
    },
  );

  it('[O-06, B-24] refuses a choice of a hosted tool that nobody here runs: an answer would be made up', async () => {
    const { status, body } = await app.create({ input: 'Hi.', tools: [WEATHER], tool_choice: { type: 'web_search' } });
    const { code, param } = (body as { error?: { code: string; param: string } }).error ?? {};
    expect([status, code, param]).toEqual([400, 'invalid_value', 'tool_choice']);
  });

  it('[B-24] [D-13] refuses a choice that only tools could meet that are not there, or leaves the model free', async () => {
    const unmet = [
      { type: 'mcp', server_label: 'deepwiki' },
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'missing' }] },
    ];
    const outcomes = [];
    for (const choice of unmet) {
      const { status } = await app.create({ input: 'Hi.', tools: [WEATHER], tool_choice: choice });
      outcomes.push(status === 400 ? 'refused' : (app.requested().tool_choice ?? 'auto'));
    }
    expect(outcomes.filter((outcome) => outcome !== 'refused' && outcome !== 'auto')).toEqual([]);
  });

  it('[B-26] [S-05] refuses to choose a function that is not among the tools, and to require one of none', async () => {
    const missing = { type: 'function', name: 'missing' };
    const { body: first } = await app.create({ input: 'Hi.' });
    const before = app.upstream.requests.length;
    expect([
      await refusalOf({ input: 'Hi.', tools: [WEATHER], tool_choice: missing }),
      await refusalOf({ input: 'Hi.', tool_choice: missing, previous_response_id: first.id }),
      await refusalOf({ input: 'Hi.', tool_choice: 'required' }),
      app.upstream.requests.length - before,
    ]).toEqual([
      refused('invalid_value', expect.stringContaining("not found in 'tools' parameter."), 'tool_choice'),
      refused('invalid_value', expect.stringContaining("not found in 'tools' parameter."), 'tool_choice'),
      refused('invalid_value', "Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice'),
      0,
    ]);
  });

  it('[A-25] drops tools that nobody here can run, with a note for each, and echoes them without their secrets', async () => {
    const mcp = { type: 'mcp', server_label: 'x', server_url: 'https://example.com', require_approval: 'never' };
    const secrets = { headers: { 'x-key': 'secret' }, authorization: 'secret' };
    const tools = [WEATHER, { ...mcp, ...secrets }, { type: 'image_generation' }];
    const { status, body } = await app.create({ input: 'Hi.', tools });
    expect([status, body.tools, app.requested().tools, app.notes.map(({ code }) => code)]).toEqual([
      200,
      [WEATHER, mcp, { type: 'image_generation' }],
      [CHAT_WEATHER],
      ['tool_dropped', 'tool_dropped'],
    ]);
  });
});

describe('calls and their outputs', () => {
  it('[P-06] [D-14] merges consecutive calls into one message, with the outputs right behind it in the order of the calls', async () => {
    const input = [
      { role: 'user', content: 'Hi.' },
      functionCall('c1', '{"city":"Paris"}'),
      functionCall('c2', '{"city":"Oslo"}'),
      output('c2', 'Snow'),
      { role: 'user', content: 'Hurry.' },
      output('c1', 'Sun'),
    ];
    expect(await messagesOf(input)).toEqual([
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: [chatCall('c1', '{"city":"Paris"}'), chatCall('c2', '{"city":"Oslo"}')],
      },
      tool('c1', 'Sun'),
      tool('c2', 'Snow'),
      { role: 'user', content: 'Hurry.' },
    ]);
  });

  it('[P-06] keeps the words before calls with them, and what follows an answer apart', async () => {
    const input = [
      { role: 'assistant', content: 'Let me look.' },
      functionCall('c1'),
      output('c1', 'Sun'),
      functionCall('c2'),
      output('c2', 'Snow'),
      { role: 'assistant', content: 'Both.' },
    ];
    expect(await messagesOf(input)).toEqual([
      { role: 'assistant', content: 'Let me look.', tool_calls: [chatCall('c1')] },
      tool('c1', 'Sun'),
      { role: 'assistant', content: null, tool_calls: [chatCall('c2')] },
      tool('c2', 'Snow'),
      { role: 'assistant', content: 'Both.' },
    ]);
  });

  it('[A-11] [A-13] [D-14] [S-12] places the outputs of two parallel calls behind the calls of the previous response', async () => {
    const calls = [
      { id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
      { id: 'call_2', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    ];
    app.upstream.reply({ body: toolCallStream(calls) }, { body: textStream('Sun and snow.') });
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER] });
    const outputs = [output('call_2', 'Snow'), output('call_1', 'Sun')];
    expect(await messagesOf(outputs, { previous_response_id: body.id })).toEqual([
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: calls.map(({ id, arguments: text }) => chatCall(id, text)),
      },
      tool('call_1', 'Sun'),
      tool('call_2', 'Snow'),
    ]);
  });

  it('[A-12] makes up the call of an output that names its tool', async () => {
    const named = { ...output('c1', 'Sun'), name: 'get_weather', arguments: '{"city":"Paris"}' };
    const bare = { ...output('c2', 'Snow'), name: 'other' };
    expect(await messagesOf([named, bare])).toEqual([
      { role: 'assistant', content: null, tool_calls: [chatCall('c1', '{"city":"Paris"}')] },
      tool('c1', 'Sun'),
      { role: 'assistant', content: null, tool_calls: [chatCall('c2', '{}', 'other')] },
      tool('c2', 'Snow'),
    ]);
  });

  it('[P-06] [A-12] refuses an output without its call and a call without its output, naming the call', async () => {
    expect([
      await refusalOf({ input: [output('c9', 'Sun')] }),
      await refusalOf({ input: [functionCall('c8'), { role: 'user', content: 'Hi.' }], stream: true }),
      app.upstream.requests.length,
    ]).toEqual([
      refused('tool_call_not_found', 'No tool call found for function call output with call_id c9.', 'input'),
      refused('tool_output_missing', 'No tool output found for function call c8.', 'input'),
      0,
    ]);
  });

  it('[A-24] keeps one of two outputs of the same call, and notes the other', async () => {
    const messages = await messagesOf([functionCall('c1'), output('c1', 'Sun'), output('c1', 'Sun again')]);
    expect([messages, app.notes]).toEqual([
      [{ role: 'assistant', content: null, tool_calls: [chatCall('c1')] }, tool('c1', 'Sun')],
      [expect.objectContaining({ code: 'item_skipped' })],
    ]);
  });

  it('[D-17] takes hosted calls back, and sends the model them and their results', async () => {
    const input = [
      { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'x', tools: [] },
      { type: 'mcp_call', id: 'mcp_1', server_label: 'x', name: 'echo', arguments: '{"a":1}', output: 'one' },
      { type: 'mcp_call', id: 'mcp_2', server_label: 'x', name: 'echo', arguments: '{}', error: 'broken' },
      {
        type: 'code_interpreter_call',
        id: 'ci_1',
        status: 'completed',
        container_id: 'cntr_1',
        code: 'print(2)',
        outputs: [{ type: 'logs', logs: '2' }],
      },
      { role: 'user', content: 'Hi.' },
    ];
    expect(await messagesOf(input)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          chatCall('mcp_1', '{"a":1}', 'echo'),
          chatCall('mcp_2', '{}', 'echo'),
          chatCall('ci_1', '{"code":"print(2)"}', 'code_interpreter'),
        ],
      },
      tool('mcp_1', 'one'),
      tool('mcp_2', 'broken'),
      tool('ci_1', '2'),
      USER,
    ]);
  });
});

describe('reasoning', () => {
  const thought = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] };
  const raw = { type: 'reasoning', id: 'rs_2', summary: [], content: [{ type: 'reasoning_text', text: 'Raw.' }] };
  const sealed = { type: 'reasoning', id: 'rs_3', summary: [], content: null, encrypted_content: 'xyz' };

  it('[S-08] goes back with the calls that it led to', async () => {
    const input = [sealed, thought, functionCall('c1'), output('c1', 'Sun'), raw, functionCall('c2'), output('c2', '')];
    expect(await messagesOf(input)).toEqual([
      { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [chatCall('c1')] },
      tool('c1', 'Sun'),
      { role: 'assistant', content: null, reasoning_content: 'Raw.', tool_calls: [chatCall('c2')] },
      tool('c2', ''),
    ]);
  });

  it('[S-08] stays away from an upstream that does not want it', async () => {
    await restart({ chat: { reasoningReplay: false } });
    expect(await messagesOf([thought, functionCall('c1'), output('c1', 'Sun')])).toEqual([
      { role: 'assistant', content: null, tool_calls: [chatCall('c1')] },
      tool('c1', 'Sun'),
    ]);
  });

  it('[S-08] [A-26] passes the effort on, and nothing where all is null', async () => {
    expect([
      await settingsOf({ reasoning: { effort: 'high', summary: 'auto' } }),
      await settingsOf({ reasoning: { effort: null, summary: null } }),
      await settingsOf({ reasoning: {} }),
    ]).toEqual([{ reasoning_effort: 'high' }, {}, {}]);
  });
});

describe('settings', () => {
  it('[A-25] [S-20] forwards what Chat Completions has a field for, and makes up nothing', async () => {
    const same = {
      metadata: { a: 'b' },
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      prompt_cache_key: 'key',
      safety_identifier: 'sid',
      service_tier: 'flex',
      temperature: 0,
      top_p: 0.9,
      user: 'u',
    };
    const others = { max_output_tokens: 100, max_tool_calls: 2, truncation: 'disabled', store: true, include: [] };
    expect([await settingsOf({ ...same, ...others, text: { verbosity: 'low' } }), await settingsOf({})]).toEqual([
      { ...same, max_tokens: 100, verbosity: 'low' },
      {},
    ]);
  });

  it('[A-25] spells the bound of the answer as the upstream wants it', async () => {
    await restart({ chat: { maxTokensField: 'max_completion_tokens' } });
    expect(await settingsOf({ max_output_tokens: 100 })).toEqual({ max_completion_tokens: 100 });
  });

  it('[S-09] asks for log probabilities where the client does', async () => {
    const include = ['message.output_text.logprobs'];
    expect([
      await settingsOf({ include }),
      await settingsOf({ include, top_logprobs: 3 }),
      await settingsOf({ top_logprobs: 0 }),
    ]).toEqual([{ logprobs: true }, { logprobs: true, top_logprobs: 3 }, {}]);
  });

  it('[S-07] [B-35] asks for structured output', async () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    const format = { type: 'json_schema', name: 'place', description: 'A place.', schema, strict: true };
    expect([
      await settingsOf({ text: { format } }),
      await settingsOf({ text: { format: { type: 'json_schema', name: 'place', schema, strict: null } } }),
      await settingsOf({ text: { format: { type: 'json_object' } } }),
      await settingsOf({ text: { format: { type: 'text' } } }),
      await settingsOf({ text: {} }),
    ]).toEqual([
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'place', description: 'A place.', schema, strict: true },
        },
      },
      { response_format: { type: 'json_schema', json_schema: { name: 'place', schema } } },
      { response_format: { type: 'json_object' } },
      {},
      {},
    ]);
  });

  it('[S-20] never drops a part of the conversation, and passes the refusal of one that is too long on', async () => {
    const error = { message: 'Too long.', type: 'invalid_request_error', param: null, code: 'context_length_exceeded' };
    const input = Array.from({ length: 200 }, (_, index) => ({ role: 'user', content: `Message ${index}` }));
    app.upstream.reply({ status: 400, body: JSON.stringify({ error }) });
    const answer = await app.create({ input, truncation: 'disabled' });
    expect([answer.status, answer.body.error, app.requested().messages, app.upstream.requests.length]).toEqual([
      400,
      error,
      input,
      1,
    ]);
  });
});

describe('system messages', () => {
  const input = [
    { role: 'developer', content: 'One.' },
    { role: 'user', content: 'Hi.' },
    { role: 'system', content: [{ type: 'input_text', text: 'Two.' }] },
  ];

  it('[P-07] [D-21] stay where they are, the developer renamed, since most templates do not know that role', async () => {
    expect(await messagesOf(input)).toEqual([
      { role: 'system', content: 'One.' },
      USER,
      { role: 'system', content: 'Two.' },
    ]);
  });

  it('[P-07] merge into one leading message where the host wants it', async () => {
    await restart({ chat: { systemMessages: 'merge' } });
    expect(await messagesOf(input, { instructions: 'Zero.' })).toEqual([
      { role: 'system', content: 'Zero.\n\nOne.\n\nTwo.' },
      USER,
    ]);
  });

  it('[P-07] keep the developer role where the host wants it', async () => {
    await restart({ chat: { developerRole: 'keep' } });
    expect(await messagesOf(input)).toEqual([
      { role: 'developer', content: 'One.' },
      USER,
      { role: 'system', content: 'Two.' },
    ]);
  });
});

/** What the acceptance suite of Open Responses sends over HTTP, in its own shapes. */
const ACCEPTANCE: readonly (readonly [string, JsonObject])[] = [
  ['a basic response', { input: [{ type: 'message', role: 'user', content: 'Say hello.' }] }],
  [
    'a system prompt',
    {
      input: [
        { type: 'message', role: 'system', content: 'You are a pirate.' },
        { type: 'message', role: 'user', content: 'Hello.' },
      ],
    },
  ],
  [
    'phases of the assistant',
    {
      input: [
        { type: 'message', role: 'assistant', content: 'Checking.', phase: 'commentary' },
        { type: 'message', role: 'assistant', content: 'Done.', phase: 'final_answer' },
        { type: 'message', role: 'user', content: 'Thanks.' },
      ],
    },
  ],
  [
    'an image without detail',
    {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: PIXEL },
          ],
        },
      ],
    },
  ],
  [
    'several turns',
    {
      input: [
        { type: 'message', role: 'user', content: 'I am Ann.' },
        { type: 'message', role: 'assistant', content: 'Hello, Ann.' },
        { type: 'message', role: 'user', content: 'Who am I?' },
      ],
    },
  ],
];

describe('the acceptance tests of Open Responses', () => {
  it.each(ACCEPTANCE)(
    '[D-22] [S-01] answers %s with a valid, completed response that says something',
    async (_, body) => {
      const { status, headers, body: response } = await app.create(body);
      expectValidResponse(response);
      expect([status, headers.get('content-type'), response.status, response.output.length]).toEqual([
        200,
        'application/json; charset=utf-8',
        'completed',
        1,
      ]);
    },
  );

  it('[D-22] [D-12] [S-05] answers a tool without strict with a valid response that calls it', async () => {
    app.upstream.reply({
      body: chatStream({
        tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
      }),
    });
    const { strict: _, ...tool } = WEATHER;
    const { body } = await app.create({ input: [{ type: 'message', ...USER }], tools: [tool] });
    expectValidResponse(body);
    expect([body.tools, body.output.map(({ type }) => type)]).toEqual([[{ ...tool, strict: null }], ['function_call']]);
  });
});

describe('hosted calls of the input', () => {
  it('[K-05] need no ids, and keep their results', async () => {
    const call = { type: 'mcp_call', server_label: 'x', name: 'echo', arguments: '{}', output: 'one' };
    const code = {
      type: 'code_interpreter_call',
      container_id: 'cntr_1',
      code: 'print(2)',
      outputs: [{ type: 'logs', logs: '2' }],
    };
    for (const id of [undefined, null, '']) {
      const messages = await messagesOf([
        { ...call, id },
        { ...call, id },
        { ...code, id },
        { role: 'user', content: 'Hi.' },
      ]);
      expect(messages.slice(1)).toEqual([
        ...['one', 'one', '2'].map((content) => ({
          role: 'tool',
          tool_call_id: expect.stringMatching(/^\S+$/),
          content,
        })),
        USER,
      ]);
      expect(new Set(messages.slice(1, 4).map(({ tool_call_id }) => tool_call_id)).size).toBe(3);
    }
  });
});
