/** `POST /responses` over real HTTP, answered as JSON: the resource, its items and its errors. */
import { functionTools } from '../../src/index.ts';
import { chatChunk, chatStream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { eventsOf, maskedValue, type RequestApp, requestAppPerTest } from '../support/request-app.ts';
import {
  callAt,
  callDelta,
  completed,
  finished,
  messageAt,
  NO_USAGE,
  OSLO,
  outputText,
  PARIS,
  STARTED,
  USAGE,
  WEATHER,
} from './response-values.ts';

let app: RequestApp;
const restart = requestAppPerTest((started) => {
  app = started;
});

const OPTIONAL_FIELDS = [
  'instructions',
  'previous_response_id',
  'stream',
  'stream_options',
  'store',
  'background',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_tool_calls',
  'max_output_tokens',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'top_logprobs',
  'include',
  'text',
  'reasoning',
  'truncation',
  'metadata',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'user',
  'conversation',
  'prompt',
  'context_management',
];

/** The sum of two model calls. */
const TWICE = { ...USAGE, input_tokens: 18, output_tokens: 24, total_tokens: 42 };

describe('POST /responses as JSON', () => {
  it('[S-01] [B-02] [C-11] [D-02] [D-05] [D-23] [M-19] [M-20] answers with the 31 keys, in one JSON object', async () => {
    const { status, headers, body } = await app.create({ input: 'Hi.' });
    expect([status, headers.get('content-type'), Object.keys(body).length, maskedValue(body)]).toEqual([
      200,
      'application/json; charset=utf-8',
      31,
      completed([messageAt(0, outputText('Hello!'))]),
    ]);
  });

  it('[S-01] [S-03] takes null for every optional field, and answers as if it were absent', async () => {
    const nulls = Object.fromEntries(OPTIONAL_FIELDS.map((name) => [name, null]));
    const { status, body } = await app.create({ input: 'Hi.', ...nulls });
    expect([status, maskedValue(body)]).toEqual([200, completed([messageAt(0, outputText('Hello!'))])]);
  });

  it('[M-20] [S-01] reports when it was created and completed in whole Unix seconds', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { created_at: created, completed_at: done } = (await app.create({ input: 'Hi.' })).body;
    const after = Math.floor(Date.now() / 1000);
    const times = [before, created, done, after] as readonly number[];
    expect([times.every(Number.isInteger), times]).toEqual([true, times.toSorted((a, b) => a - b)]);
  });

  it('[S-20] [S-01] [B-02] echoes every field that the request gives', async () => {
    const given = {
      instructions: 'Be brief.',
      max_output_tokens: 64,
      max_tool_calls: 3,
      metadata: { team: 'blue' },
      parallel_tool_calls: false,
      prompt_cache_key: 'cache-1',
      reasoning: { effort: 'low', summary: 'auto' },
      safety_identifier: 'user-7',
      service_tier: 'flex',
      store: false,
      temperature: 0,
      top_p: 0.5,
      presence_penalty: -1,
      frequency_penalty: 1.5,
      top_logprobs: 2,
      truncation: 'auto',
      user: 'u-1',
    };
    const { body } = await app.create({ input: 'Hi.', text: { verbosity: 'low' }, ...given });
    expect(maskedValue(body)).toEqual({
      ...completed([messageAt(0, outputText('Hello!'))]),
      ...given,
      text: { format: { type: 'text' }, verbosity: 'low' },
    });
  });

  it('[S-05] [S-01] echoes a function tool with all of its keys, null where it gave none', async () => {
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER, { type: 'function', name: 'bare' }] });
    expect(body.tools).toEqual([
      WEATHER,
      { type: 'function', name: 'bare', description: null, parameters: null, strict: null },
    ]);
  });

  it('[S-05] [D-12] echoes each form of tool_choice, allowed_tools with its mode', async () => {
    const named = { type: 'function', name: 'get_weather' };
    const allowed = { type: 'allowed_tools', tools: [{ type: 'function', name: 'get_weather' }] };
    const echoed = [];
    for (const choice of ['auto', 'none', 'required', named, allowed]) {
      const { body } = await app.create({ input: 'Hi.', tools: [WEATHER], tool_choice: choice });
      echoed.push(body.tool_choice);
    }
    expect(echoed).toEqual(['auto', 'none', 'required', named, { ...allowed, mode: 'auto' }]);
  });

  it('[S-07] [B-35] echoes the real schema of structured output, and json_object', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const format = { type: 'json_schema', name: 'place', description: 'A place.', schema, strict: true };
    const { body: strict } = await app.create({ input: 'Hi.', text: { format } });
    const { body: loose } = await app.create({
      input: 'Hi.',
      text: { format: { type: 'json_schema', name: 'place', schema } },
    });
    const { body: object } = await app.create({ input: 'Hi.', text: { format: { type: 'json_object' } } });
    expect([strict.text, loose.text, object.text]).toEqual([
      { format },
      { format: { ...format, description: null, strict: false } },
      { format: { type: 'json_object' } },
    ]);
  });

  it('[S-10] [B-42] [D-23] [F-26] reports the cached and the reasoning tokens, and zeros where the upstream counts nothing', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 32 },
      completion_tokens_details: { reasoning_tokens: 30 },
    };
    const counted = [chatChunk({ content: 'Hi' }), chatChunk({}, { finish_reason: 'stop', usage }), 'data: [DONE]\n\n'];
    app.upstream.reply({ body: counted }, { body: finished('stop', { content: 'Hi' }) });
    const first = await app.create({ input: 'Hi.' });
    const second = await app.create({ input: 'Hi.' });
    expect([first.body.usage, second.body.usage]).toEqual([
      {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 64, cache_write_tokens: 32 },
        output_tokens: 50,
        output_tokens_details: { reasoning_tokens: 30 },
        total_tokens: 150,
      },
      NO_USAGE,
    ]);
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('[S-11] [D-06] answers a stop for %s as incomplete, its last item too', async (finish, reason) => {
    app.upstream.reply({
      body: finished(finish, { content: 'Let me see.' }, { tool_calls: [{ index: 0, ...callDelta(PARIS) }] }),
    });
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER] });
    const { status, completed_at: at, incomplete_details: details, error, output } = body;
    expect(maskedValue({ id: body.id, status, at, details, error, output })).toEqual({
      id: 'resp_SEED',
      status: 'incomplete',
      at: null,
      details: { reason },
      error: null,
      output: [messageAt(0, outputText('Let me see.')), { ...callAt(1, PARIS), status: 'incomplete' }],
    });
  });

  it('[B-08] [C-03] prefixes ids by kind, of 128 random bits, and keeps the call ids of the upstream', async () => {
    const deltas = [
      { reasoning_content: 'Hm.' },
      { content: 'Wait.' },
      { tool_calls: [{ index: 0, ...callDelta(PARIS) }] },
    ];
    app.upstream.reply({ body: chatStream(...deltas) });
    const { body: first } = await app.create({ input: 'Hi.' });
    const { body: second } = await app.create({ input: 'Hi.' });
    const [, seed] = /^resp_([0-9a-f]{32})$/.exec(first.id) ?? [];
    expect([first.output.map(({ id, call_id: callId }) => [id, callId]), first.id === second.id]).toEqual([
      [
        [`rs_${seed}0000`, undefined],
        [`msg_${seed}0001`, undefined],
        [`fc_${seed}0002`, 'call_paris'],
      ],
      false,
    ]);
  });

  it('[C-13] has no items where the model wrote nothing', async () => {
    app.upstream.reply({ body: chatStream({ role: 'assistant', content: '' }) });
    const { body } = await app.create({ input: 'Hi.' });
    const types = eventsOf(await app.streamed({ input: 'Hi.' })).map(({ type }) => type);
    expect([maskedValue(body), types]).toEqual([
      completed([]),
      ['response.created', 'response.in_progress', 'response.completed'],
    ]);
  });

  it('[C-16] [A-13] [D-14] [M-01] [M-04] keeps the words before two parallel calls, completes, and leaves the calls to the client', async () => {
    const deltas = [
      { content: 'Let me look.' },
      { tool_calls: [{ index: 0, ...callDelta(PARIS) }] },
      { tool_calls: [{ index: 1, ...callDelta(OSLO) }] },
    ];
    app.upstream.reply({ body: chatStream(...deltas) });
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER] });
    expect([maskedValue(body), app.upstream.requests.length]).toEqual([
      {
        ...completed([messageAt(0, outputText('Let me look.')), callAt(1, PARIS), callAt(2, OSLO)]),
        tools: [WEATHER],
      },
      1,
    ]);
  });

  it('[P-05] [C-04] answers calls that were given no arguments with an empty object, and loses none', async () => {
    const calls = ['call_1', 'call_2'].map((id) => ({ id, name: 'now', arguments: '' }));
    app.upstream.reply({ body: toolCallStream(calls) });
    const { body } = await app.create({ input: 'Hi.', tools: [{ type: 'function', name: 'now' }] });
    const whole = calls.map((each, index) => callAt(index, { ...each, arguments: '{}' }));
    expect(maskedValue([body.id, body.output])).toEqual(['resp_SEED', whole]);
  });

  it.each([
    ['mcp_call', ['mcp_list_tools', 'mcp_call', 'message']],
    ['function_call', ['function_call', 'function_call_output', 'message']],
  ] as const)(
    '[M-06] [D-16] [B-42] [S-10] runs its own tool without asking the client, and shows it as %s',
    async (shownAs, types) => {
      await restart({ show: { toolCalls: shownAs }, tools: functionTools({ look: { execute: () => 'A cat.' } }) });
      const look = { id: 'call_1', name: 'look', arguments: '{}' };
      app.upstream.reply({ body: toolCallStream([look]) }, { body: textStream('I see a cat.') });
      const { body } = await app.create({ input: 'Hi.' });
      const reported = app.requested().messages.at(-1)?.content;
      expect([body.status, body.output.map(({ type }) => type), reported, body.usage]).toEqual([
        'completed',
        types,
        'A cat.',
        TWICE,
      ]);
    },
  );

  it('[D-13] never shows a call that allowed_tools does not allow, and notes it', async () => {
    app.upstream.reply({ body: toolCallStream([{ ...PARIS, id: 'call_1', name: 'delete_all' }, PARIS]) });
    const request = {
      input: 'Hi.',
      tools: [WEATHER, { type: 'function', name: 'delete_all' }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'get_weather' }] },
    };
    const { body } = await app.create(request);
    const text = await app.streamed(request);
    expect([maskedValue([body.id, body.output]), text.includes('call_1'), app.notes]).toEqual([
      ['resp_SEED', [callAt(0, PARIS)]],
      false,
      [expect.objectContaining({ code: 'call_dropped' }), expect.objectContaining({ code: 'call_dropped' })],
    ]);
  });
});

describe('errors', () => {
  it.each([
    [400, { message: 'Too long.', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' }],
    [404, { message: 'No such model.', type: 'invalid_request_error', param: 'model', code: 'model_not_found' }],
    [429, { message: 'Slow down.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' }],
    [500, { message: 'Oops.', type: 'server_error', param: null, code: 'internal_error' }],
  ])(
    '[D-19] [M-09] answers an upstream refusal of %i with that status and all four fields, streamed or not',
    async (status, error) => {
      app.upstream.reply({ status, body: JSON.stringify({ error }) });
      const answers = [await app.create({ input: 'Hi.' }), await app.create({ input: 'Hi.', stream: true })];
      expect(answers.map((answer) => [answer.status, answer.body])).toEqual([
        [status, { error }],
        [status, { error }],
      ]);
    },
  );

  it('[D-19] [D-01] answers a wrong upstream key as an error object', async () => {
    app.upstream.reply({ status: 401, body: JSON.stringify({ error: { message: 'Bad key.' } }) });
    const { status, body } = await app.create({ input: 'Hi.' });
    expect([status, body]).toEqual([
      401,
      { error: { message: 'Bad key.', type: 'invalid_request_error', param: null, code: 'invalid_api_key' } },
    ]);
  });

  it('[D-19] names the field at fault of a bad request', async () => {
    const { status, body } = await app.create({
      input: [{ role: 'user', content: [{ type: 'input_text', text: 7 }] }],
    });
    expect([status, body, app.upstream.requests.length]).toEqual([
      400,
      {
        error: {
          message: expect.stringContaining("'input[0].content"),
          type: 'invalid_request_error',
          param: expect.stringMatching(/^input\[0\]\.content/),
          code: 'invalid_type',
        },
      },
      0,
    ]);
  });

  it('[A-18] [M-09] answers JSON with the failed response where the model had begun to write', async () => {
    const written = chatChunk({ content: 'Half' });
    app.upstream.reply({ body: written, cutAfterBytes: written.length });
    const { status, body } = await app.create({ input: 'Hi.' });
    const message = 'The connection to the model server broke.';
    const error = { code: 'server_error', message, type: 'server_error', param: null, reason: 'upstream_truncated' };
    const output = [{ ...messageAt(0, outputText('Half')), status: 'incomplete' }];
    expect([status, maskedValue(body)]).toEqual([
      200,
      { ...STARTED, status: 'failed', error, output, usage: NO_USAGE },
    ]);
  });
});
