/** The endpoints over real HTTP: what each answers, as JSON and as a stream, frame by frame. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type RequestHandler } from 'express';
import {
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  type ResponseStore,
  responsesRouter,
  type Upstream,
} from '../../src/index.ts';
import { coreSettings } from '../../src/server/options.ts';
import {
  chatChunk,
  chatStream,
  type FakeToolCall,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { expectValidEvent } from '../support/open-responses-schema.ts';
import {
  eventsOf,
  type Fields,
  finalOf,
  framesOf,
  masked,
  maskedValue,
  type RequestApp,
  type RequestAppSetup,
  startRequestApp,
} from '../support/request-app.ts';

let app: RequestApp;

beforeEach(async () => {
  app = await startRequestApp();
});

afterEach(() => app.close());

/** Replaces the app of this test by one with options. */
async function restart(setup: RequestAppSetup): Promise<void> {
  await app.close();
  app = await startRequestApp(setup);
}

/** Says the deltas, then finishes for the reason. */
function finished(reason: string, ...deltas: readonly Fields[]): string {
  const chunks = deltas.map((delta) => chatChunk(delta));
  return [...chunks, chatChunk({}, { finish_reason: reason }), 'data: [DONE]\n\n'].join('');
}

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: true,
};
const PARIS: FakeToolCall = { id: 'call_paris', name: 'get_weather', arguments: '{"city":"Paris"}' };
const OSLO: FakeToolCall = { id: 'call_oslo', name: 'get_weather', arguments: '{"city":"Oslo"}' };

const USAGE = {
  input_tokens: 9,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 21,
};
/** The sum of two model calls. */
const TWICE = { ...USAGE, input_tokens: 18, output_tokens: 24, total_tokens: 42 };
const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** The resource of a request that gave nothing but `model` and `input`; masked. */
const STARTED = {
  id: 'resp_SEED',
  object: 'response',
  created_at: 1,
  completed_at: null,
  status: 'in_progress',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: 'fake-model',
  output: [] as readonly unknown[],
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [] as readonly unknown[],
  top_logprobs: 0,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  truncation: 'disabled',
  usage: null as unknown,
  metadata: {},
};

function completed(output: readonly unknown[]): Fields {
  return { ...STARTED, status: 'completed', completed_at: 1, output, usage: USAGE };
}

function outputText(text: string): Fields {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** An output message; masked. */
function messageAt(index: number, ...content: readonly Fields[]): Fields {
  return { id: `msg_SEED000${index}`, type: 'message', status: 'completed', role: 'assistant', content };
}

/** An output call; masked. */
function callAt(index: number, { id, name, arguments: text }: FakeToolCall): Fields {
  return {
    id: `fc_SEED000${index}`,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: text,
  };
}

/** One frame, as it must be on the wire. */
function frame(type: string, sequence: number, fields: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`;
}

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

  it('[M-20] [S-01] tells when it was created and completed in whole Unix seconds', async () => {
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

  it('[S-10] [B-42] [D-23] [F-26] tells the cached and the reasoning tokens, and zeros where the upstream counts nothing', async () => {
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
      body: finished(finish, { content: 'Let me see.' }, { tool_calls: [{ index: 0, ...call(PARIS) }] }),
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
    const deltas = [{ reasoning_content: 'Hm.' }, { content: 'Wait.' }, { tool_calls: [{ index: 0, ...call(PARIS) }] }];
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

  it('[C-13] says nothing of items where the model said nothing', async () => {
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
      { tool_calls: [{ index: 0, ...call(PARIS) }] },
      { tool_calls: [{ index: 1, ...call(OSLO) }] },
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
    async (mcpItems, types) => {
      await restart({ mcpItems, tools: functionTools({ look: { execute: () => 'A cat.' } }) });
      const look = { id: 'call_1', name: 'look', arguments: '{}' };
      app.upstream.reply({ body: toolCallStream([look]) }, { body: textStream('I see a cat.') });
      const { body } = await app.create({ input: 'Hi.' });
      const told = app.asked().messages.at(-1)?.content;
      expect([body.status, body.output.map(({ type }) => type), told, body.usage]).toEqual([
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

/** The wire form of a call's delta. */
function call({ id, name, arguments: text }: FakeToolCall): Fields {
  return { id, type: 'function', function: { name, arguments: text } };
}

describe('POST /responses as a stream', () => {
  it('[S-02] [A-01] [C-12] [D-03] [D-08] [M-11] [M-12] [M-13] [M-15] [M-16] says a text in the strict order, one frame for each event', async () => {
    app.upstream.reply({ body: textStream(['Hel', 'lo', ' \n']) });
    const message = { output_index: 0, item: { ...messageAt(0), status: 'in_progress' } };
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    expect(masked(await app.streamed({ input: 'Hi.' }))).toBe(
      [
        frame('response.created', 0, { response: STARTED }),
        frame('response.in_progress', 1, { response: STARTED }),
        frame('response.output_item.added', 2, message),
        frame('response.content_part.added', 3, { ...part, part: outputText('') }),
        frame('response.output_text.delta', 4, { ...part, delta: 'Hel', logprobs: [] }),
        frame('response.output_text.delta', 5, { ...part, delta: 'lo', logprobs: [] }),
        frame('response.output_text.delta', 6, { ...part, delta: ' \n', logprobs: [] }),
        frame('response.output_text.done', 7, { ...part, text: 'Hello \n', logprobs: [] }),
        frame('response.content_part.done', 8, { ...part, part: outputText('Hello \n') }),
        frame('response.output_item.done', 9, { output_index: 0, item: messageAt(0, outputText('Hello \n')) }),
        frame('response.completed', 10, { response: completed([messageAt(0, outputText('Hello \n'))]) }),
        'data: [DONE]\n\n',
      ].join(''),
    );
  });

  it('[C-01] [C-02] [C-03] [C-04] [A-06] [A-07] [A-10] [M-01] [M-02] [M-03] [M-04] [M-25] says a call under one id, from no arguments to all of them, and completes', async () => {
    const fragments = ['{"city":', '"Paris"}'].map((text) => ({
      tool_calls: [{ index: 0, function: { arguments: text } }],
    }));
    app.upstream.reply({
      body: chatStream({ tool_calls: [{ index: 0, ...call({ ...PARIS, arguments: '' }) }] }, ...fragments),
    });
    const started = { ...STARTED, tools: [WEATHER] };
    const place = { item_id: 'fc_SEED0000', output_index: 0 };
    const added = { ...callAt(0, { ...PARIS, arguments: '' }), status: 'in_progress' };
    expect(masked(await app.streamed({ input: 'Hi.', tools: [WEATHER] }))).toBe(
      [
        frame('response.created', 0, { response: started }),
        frame('response.in_progress', 1, { response: started }),
        frame('response.output_item.added', 2, { output_index: 0, item: added }),
        frame('response.function_call_arguments.delta', 3, { ...place, delta: '{"city":' }),
        frame('response.function_call_arguments.delta', 4, { ...place, delta: '"Paris"}' }),
        frame('response.function_call_arguments.done', 5, {
          ...place,
          name: 'get_weather',
          arguments: '{"city":"Paris"}',
        }),
        frame('response.output_item.done', 6, { output_index: 0, item: callAt(0, PARIS) }),
        frame('response.completed', 7, { response: { ...completed([callAt(0, PARIS)]), tools: [WEATHER] } }),
        'data: [DONE]\n\n',
      ].join(''),
    );
  });

  it('[S-09] [D-11] says a refusal in a part of its own', async () => {
    app.upstream.reply({ body: chatStream({ refusal: 'I ' }, { refusal: 'cannot.' }) });
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    const events = itemEvents(await app.streamed({ input: 'Hi.' }));
    expect(events).toEqual([
      ['response.output_item.added', { output_index: 0, item: { ...messageAt(0), status: 'in_progress' } }],
      ['response.content_part.added', { ...part, part: { type: 'refusal', refusal: '' } }],
      ['response.refusal.delta', { ...part, delta: 'I ' }],
      ['response.refusal.delta', { ...part, delta: 'cannot.' }],
      ['response.refusal.done', { ...part, refusal: 'I cannot.' }],
      ['response.content_part.done', { ...part, part: { type: 'refusal', refusal: 'I cannot.' } }],
      ['response.output_item.done', { output_index: 0, item: messageAt(0, { type: 'refusal', refusal: 'I cannot.' }) }],
    ]);
  });

  it('[S-09] fills in the bytes of log probabilities, and tells them with delta, end and part', async () => {
    const alternatives = [{ token: 'ö', logprob: -0.5, bytes: null }];
    const logprobs = {
      content: [{ token: 'é', logprob: -0.25, bytes: null, top_logprobs: alternatives }],
      refusal: null,
    };
    const choices = [{ index: 0, delta: { content: 'é' }, logprobs, finish_reason: null }];
    app.upstream.reply({ body: [chatChunk({}, { choices }), finished('stop')] });
    const events = itemEvents(
      await app.streamed({ input: 'Hi.', top_logprobs: 1, include: ['message.output_text.logprobs'] }),
    );
    const told = [
      {
        token: 'é',
        logprob: -0.25,
        bytes: [0xc3, 0xa9],
        top_logprobs: [{ token: 'ö', logprob: -0.5, bytes: [0xc3, 0xb6] }],
      },
    ];
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    const whole = { ...outputText('é'), logprobs: told };
    expect(events.slice(2)).toEqual([
      ['response.output_text.delta', { ...part, delta: 'é', logprobs: told }],
      ['response.output_text.done', { ...part, text: 'é', logprobs: told }],
      ['response.content_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: messageAt(0, whole) }],
    ]);
  });

  it('[S-09] [D-11] flattens url citations into annotations', async () => {
    const url_citation = { url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 3 };
    app.upstream.reply({
      body: chatStream({ content: 'Yes' }, { annotations: [{ type: 'url_citation', url_citation }] }),
    });
    const annotation = { type: 'url_citation', ...url_citation };
    const part = { item_id: 'msg_SEED0000', output_index: 0, content_index: 0 };
    const whole = { ...outputText('Yes'), annotations: [annotation] };
    expect(itemEvents(await app.streamed({ input: 'Hi.' })).slice(3)).toEqual([
      ['response.output_text.annotation.added', { ...part, annotation_index: 0, annotation }],
      ['response.output_text.done', { ...part, text: 'Yes', logprobs: [] }],
      ['response.content_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: messageAt(0, whole) }],
    ]);
  });

  it('[S-08] [M-07] [M-25] [D-09] says reasoning as a summary, by summary_index, unless the host wants it otherwise', async () => {
    app.upstream.reply({ body: chatStream({ reasoning_content: 'Hm' }, { content: 'Yes' }) });
    const item = { id: 'rs_SEED0000', type: 'reasoning', status: 'completed', summary: [] as readonly Fields[] };
    const part = { item_id: 'rs_SEED0000', output_index: 0, summary_index: 0 };
    const whole = { type: 'summary_text', text: 'Hm' };
    expect(itemEvents(await app.streamed({ input: 'Hi.' })).slice(0, 7)).toEqual([
      ['response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress' } }],
      ['response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } }],
      ['response.reasoning_summary_text.delta', { ...part, delta: 'Hm' }],
      ['response.reasoning_summary_text.done', { ...part, text: 'Hm' }],
      ['response.reasoning_summary_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: { ...item, summary: [whole] } }],
      ['response.output_item.added', { output_index: 1, item: { ...messageAt(1), status: 'in_progress' } }],
    ]);
  });

  it.each([
    ['text', 'response.reasoning_text'],
    ['spec', 'response.reasoning'],
  ] as const)('[S-08] [M-07] [D-10] says raw reasoning with reasoning: %s', async (reasoning, name) => {
    await restart({ reasoning });
    app.upstream.reply({ body: chatStream({ reasoning: 'Hm' }) });
    const item = { id: 'rs_SEED0000', type: 'reasoning', status: 'completed', summary: [] };
    const part = { item_id: 'rs_SEED0000', output_index: 0, content_index: 0 };
    const whole = { type: 'reasoning_text', text: 'Hm' };
    expect(itemEvents(await app.streamed({ input: 'Hi.' }))).toEqual([
      ['response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }],
      ['response.content_part.added', { ...part, part: { type: 'reasoning_text', text: '' } }],
      [`${name}.delta`, { ...part, delta: 'Hm' }],
      [`${name}.done`, { ...part, text: 'Hm' }],
      ['response.content_part.done', { ...part, part: whole }],
      ['response.output_item.done', { output_index: 0, item: { ...item, content: [whole] } }],
    ]);
  });

  it.each([
    ['reasoning_content', [{ reasoning_content: 'Hm' }, { content: 'Yes' }]],
    ['reasoning', [{ reasoning: 'Hm' }, { content: 'Yes' }]],
    ['reasoning_details', [{ reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }, { content: 'Yes' }]],
    ['<think> in the text', [{ content: '<thi' }, { content: 'nk>Hm</think>Yes' }]],
  ])('[S-08] reads the reasoning of an upstream that sends %s', async (_, deltas) => {
    app.upstream.reply({ body: chatStream(...deltas) });
    const { body } = await app.create({ input: 'Hi.' });
    expect(maskedValue([body.id, body.output])).toEqual([
      'resp_SEED',
      [
        {
          id: 'rs_SEED0000',
          type: 'reasoning',
          status: 'completed',
          summary: [{ type: 'summary_text', text: 'Hm' }],
        },
        messageAt(1, outputText('Yes')),
      ],
    ]);
  });

  it('[M-14] [D-04] says queued only where the host asks for it', async () => {
    const without = eventsOf(await app.streamed({ input: 'Hi.' })).slice(0, 2);
    await restart({ queuedEvent: true });
    const withQueued = eventsOf(await app.streamed({ input: 'Hi.' })).slice(0, 3);
    const statuses = (events: readonly Fields[]) =>
      events.map(({ type, sequence_number: sequence, response }) => [type, sequence, (response as Fields).status]);
    expect([statuses(without), statuses(withQueued)]).toEqual([
      [
        ['response.created', 0, 'in_progress'],
        ['response.in_progress', 1, 'in_progress'],
      ],
      [
        ['response.created', 0, 'in_progress'],
        ['response.queued', 1, 'queued'],
        ['response.in_progress', 2, 'in_progress'],
      ],
    ]);
  });

  it('[M-08] [M-12] fills silence with comments, which have no number, by default after 15 s', async () => {
    const [beat, resume] = gate();
    const upstream = upstreamOf(async function* () {
      yield [{ type: 'text-delta', text: 'a' }];
      await beat;
      yield [{ type: 'finish', reason: 'stop' }];
    });
    await restart({ upstream, heartbeat: { intervalMs: 1 } });
    const text = await readUntil(': heartbeat\n\n', resume);
    const sequences = eventsOf(text).map(({ sequence_number: sequence }) => sequence);
    const { heartbeat } = coreSettings('test', { store: memoryStore(), upstream });
    expect([text.includes('\n\n: heartbeat\n\n'), sequences, heartbeat]).toEqual([
      true,
      sequences.map((_, index) => index),
      { intervalMs: 15_000, style: 'comment' },
    ]);
  });

  it('[A-18] [M-09] [D-19] [S-02] ends a broken stream with one merged error, the failed response and [DONE]', async () => {
    const said = [chatChunk({ content: 'Half an' }), chatChunk({ content: ' answer' })];
    app.upstream.reply({ body: said, cutAfterBytes: said.join('').length });
    const frames = framesOf(await app.streamed({ input: 'Hi.' })).slice(-3);
    const message = 'The connection to the model server broke.';
    const code = 'upstream_truncated';
    const output = [{ ...messageAt(0, outputText('Half an answer')), status: 'incomplete' }];
    const [error, failed, done] = frames.map(({ data }) => data);
    const told = { code: 'server_error', message, type: 'server_error', param: null, reason: code };
    expect(maskedValue([(failed as { response: Fields }).response.id, error, failed, done])).toEqual([
      'resp_SEED',
      {
        type: 'error',
        sequence_number: 9,
        code,
        message,
        param: null,
        error: { type: 'server_error', code, message, param: null },
      },
      {
        type: 'response.failed',
        sequence_number: 10,
        response: { ...STARTED, status: 'failed', error: told, output, usage: NO_USAGE },
      },
      '[DONE]',
    ]);
  });

  it('[S-11] [D-06] [M-10] ends with response.incomplete, its item incomplete and last', async () => {
    app.upstream.reply({ body: finished('length', { reasoning: 'Hm' }, { content: 'Cut' }) });
    const text = await app.streamed({ input: 'Hi.' });
    const message = { ...messageAt(1, outputText('Cut')), status: 'incomplete' };
    const events = eventsOf(text);
    expect(maskedValue([finalOf(text).id, events.at(-2), events.at(-1)?.type, finalOf(text).output.at(-1)])).toEqual([
      'resp_SEED',
      { type: 'response.output_item.done', sequence_number: events.length - 2, output_index: 1, item: message },
      'response.incomplete',
      message,
    ]);
  });
});

/** The events between the lifecycle's, each as its type and its own fields; masked. */
function itemEvents(text: string): readonly unknown[] {
  return eventsOf(masked(text))
    .slice(2, -1)
    .map(({ type, sequence_number: _, ...fields }) => [type, fields]);
}

/** A promise, and what resolves it. */
function gate(): readonly [Promise<void>, () => void] {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, () => open()];
}

/** A model server of our own making. */
function upstreamOf(stream: Upstream['stream']): Upstream {
  return { name: 'of-this-test', stream };
}

/** The whole stream; `seen` is called when the text shows. */
async function readUntil(shows: string, seen: () => void): Promise<string> {
  const response = await fetch(`${app.url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake-model', input: 'Hi.', stream: true }),
  });
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString();
    if (text.includes(shows)) seen();
  }
  return text;
}

/** Streams of every shape, for what must hold of all of them. */
const STREAMS: Readonly<Record<string, string>> = {
  text: textStream(['Hel', 'lo']),
  'no text': chatStream({ role: 'assistant', content: '' }),
  'reasoning and text': chatStream({ reasoning_content: 'Hm' }, { content: 'Yes' }),
  'thinking tags': textStream(['<think>Hm</think>', 'Yes']),
  refusal: chatStream({ content: 'Well, ' }, { refusal: 'no.' }),
  'parallel calls': toolCallStream([PARIS, OSLO]),
  'text and calls': chatStream(
    { content: 'Look: ' },
    { tool_calls: [{ index: 0, ...call(PARIS) }] },
    { content: 'and' },
    { tool_calls: [{ index: 1, ...call(OSLO) }] },
    { content: 'done' },
  ),
  'a call without arguments': toolCallStream([{ id: 'c', name: 'now', arguments: '' }]),
  citation: chatStream({ content: 'Yes' }, { annotations: [{ type: 'url_citation', url: 'https://example.com' }] }),
  'cut off by length': finished('length', { content: 'Cut' }),
  'cut off by a filter': finished('content_filter', { content: 'Cut' }),
  'cut off before anything': finished('length'),
};

/** The events of Open Responses, and the one that is in OpenAI's schema alone but never sent by default. */
const KNOWN_EVENTS: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.output_item.added',
  'response.output_item.done',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.delta',
  'response.output_text.done',
  'response.output_text.annotation.added',
  'response.refusal.delta',
  'response.refusal.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_summary_text.delta',
  'response.reasoning_summary_text.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'error',
]);

const TERMINAL: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed']);

describe.each(Object.entries(STREAMS))('every stream: %s', (_, body) => {
  it('[S-02] [C-05] [C-06] [D-03] [D-08] [M-10] [M-11] [M-12] [M-13] [M-15] [M-22] is numbered from 0, named, valid, known, started once and ended once', async () => {
    app.upstream.reply({ body });
    const frames = framesOf(await app.streamed({ input: 'Hi.', tools: [WEATHER] }));
    // The cast: only the last frame is not an event, and the schema asks for a type.
    const events = frames.slice(0, -1).map(({ data }) => data as Fields & { readonly type: string });
    events.forEach(expectValidEvent);
    const counted = (type: string) => events.filter((event) => event.type === type).length;
    expect({
      done: frames.at(-1),
      names: frames.slice(0, -1).map(({ event }) => event),
      sequences: events.map(({ sequence_number: sequence }) => sequence),
      unknown: events.filter(({ type }) => !KNOWN_EVENTS.has(type)),
      started: [events[0]?.type, counted('response.created'), counted('response.in_progress')],
      terminal: events.flatMap(({ type }, index) => (TERMINAL.has(type) ? [index] : [])),
    }).toEqual({
      done: { event: undefined, data: '[DONE]' },
      names: events.map(({ type }) => type),
      sequences: events.map((_, index) => index),
      unknown: [],
      started: ['response.created', 1, 1],
      terminal: [events.length - 1],
    });
  });

  it('[S-01] [M-19] [C-04] holds in its last event the response that JSON would have answered', async () => {
    app.upstream.reply({ body });
    const streamed = finalOf(await app.streamed({ input: 'Hi.', tools: [WEATHER] }));
    const { body: whole } = await app.create({ input: 'Hi.', tools: [WEATHER] });
    expect(maskedValue(streamed)).toEqual(maskedValue(whole));
  });

  it('[C-02] [D-07] [D-08] places every item event in an open item of that id', async () => {
    app.upstream.reply({ body });
    const open = new Map<unknown, unknown>();
    const misplaced = eventsOf(await app.streamed({ input: 'Hi.' })).filter((event) => {
      const { type, output_index: index, item, item_id: itemId } = event;
      if (index === undefined) return false;
      const id = itemId ?? (item as Fields).id;
      const opens = type === 'response.output_item.added';
      const right = opens ? !open.has(index) : open.get(index) === id;
      open.set(index, type === 'response.output_item.done' ? 'done' : id);
      return !right;
    });
    expect([misplaced, [...open.values()].every((value) => value === 'done')]).toEqual([[], true]);
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

  it('[A-18] [M-09] answers JSON with the failed response where the model had begun to speak', async () => {
    const said = chatChunk({ content: 'Half' });
    app.upstream.reply({ body: said, cutAfterBytes: said.length });
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

const NOT_FOUND = {
  message: "Previous response with id 'resp_unknown' not found.",
  type: 'invalid_request_error',
  param: 'previous_response_id',
  code: 'previous_response_not_found',
};

describe('previous_response_id', () => {
  it('[S-12] [A-11] [B-31] [D-15] puts before the input all that was said, oldest first', async () => {
    app.upstream.reply({ body: textStream('Two.') }, { body: textStream('Three.') });
    const first = await app.create({ input: 'One?' });
    const second = await app.create({ input: 'And?', previous_response_id: first.body.id });
    await app.create({ input: 'More?', previous_response_id: second.body.id });
    expect([second.body.previous_response_id, app.asked().messages]).toEqual([
      first.body.id,
      [
        { role: 'user', content: 'One?' },
        { role: 'assistant', content: 'Two.' },
        { role: 'user', content: 'And?' },
        { role: 'assistant', content: 'Three.' },
        { role: 'user', content: 'More?' },
      ],
    ]);
  });

  it('[B-31] reads the chain of many turns with one query', async () => {
    const memory = memoryStore();
    const asked: string[] = [];
    const store: ResponseStore = {
      name: 'counting',
      get(key) {
        asked.push('get');
        return memory.get(key);
      },
      put: (response) => memory.put(response),
      delete: (key) => memory.delete(key),
      chain(key, limit) {
        asked.push('chain');
        return memory.chain(key, limit);
      },
    };
    await restart({ store });
    let previous: string | null = null;
    for (let turn = 0; turn < 5; turn += 1) {
      const { body } = await app.create({ input: `Turn ${turn}.`, previous_response_id: previous });
      previous = body.id;
    }
    expect([asked, app.asked().messages.length]).toEqual([['chain', 'chain', 'chain', 'chain'], 9]);
  });

  it('[M-23] [A-22] [S-12] does not inherit instructions; new ones take the place of the old', async () => {
    const { body: first } = await app.create({ input: 'One?', instructions: 'Old.' });
    const history = [
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: 'Hello!' },
      { role: 'user', content: 'Two?' },
    ];
    const { body: without } = await app.create({ input: 'Two?', previous_response_id: first.id });
    const askedWithout = app.asked().messages;
    const { body: anew } = await app.create({ input: 'Two?', previous_response_id: first.id, instructions: 'New.' });
    expect([without.instructions, askedWithout, anew.instructions, app.asked().messages]).toEqual([
      null,
      history,
      'New.',
      [{ role: 'system', content: 'New.' }, ...history],
    ]);
  });

  it('[S-12] [B-31] inherits tools and tool_choice where they are omitted, and not where tools are given', async () => {
    const { body: first } = await app.create({ input: 'One?', tools: [WEATHER], tool_choice: 'required' });
    const { body: second } = await app.create({ input: 'Two?', previous_response_id: first.id });
    const { tools, tool_choice: choice } = app.asked();
    const { body: third } = await app.create({ input: 'Two?', previous_response_id: first.id, tools: [] });
    const { type, ...definition } = WEATHER;
    expect([
      second.tools,
      second.tool_choice,
      tools,
      choice,
      third.tools,
      third.tool_choice,
      app.asked().tools,
    ]).toEqual([[WEATHER], 'required', [{ type, function: definition }], 'required', [], 'auto', undefined]);
  });

  it('[M-17] [B-30] [A-21] [S-12] answers an unknown id with 400 before the model is asked', async () => {
    const { status, body } = await app.create({ input: 'Hi.', previous_response_id: 'resp_unknown', stream: true });
    expect([status, body, app.upstream.requests.length]).toEqual([400, { error: NOT_FOUND }, 0]);
  });

  it('[B-28] keeps completed and incomplete responses, and no failed one', async () => {
    const said = chatChunk({ content: 'Half' });
    app.upstream.reply(
      { body: textStream('Whole') },
      { body: finished('length', { content: 'Cut' }) },
      { body: said, cutAfterBytes: said.length },
    );
    const kept = [];
    for (const input of ['One?', 'Two?', 'Three?']) {
      const { body } = await app.create({ input });
      const { status, body: found } = await app.get(`/responses/${body.id}`);
      kept.push([body.status, status, status === 200 && found]);
      if (status === 200) expect(found).toEqual(body);
    }
    expect(kept.map(([ended, status]) => [ended, status])).toEqual([
      ['completed', 200],
      ['incomplete', 200],
      ['failed', 404],
    ]);
  });

  it('[B-29] [S-12] neither retrieves nor continues a response with store: false', async () => {
    const { body } = await app.create({ input: 'Hi.', store: false });
    const found = await app.get(`/responses/${body.id}`);
    const continued = await app.create({ input: 'Hi.', previous_response_id: body.id });
    expect([body.store, found.status, continued.status]).toEqual([false, 404, 400]);
  });
});

describe('GET and DELETE /responses/{id}', () => {
  it('[S-13] retrieves the response as it was answered', async () => {
    app.upstream.reply({ body: chatStream({ reasoning: 'Hm' }, { tool_calls: [{ index: 0, ...call(PARIS) }] }) });
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER], metadata: { a: 'b' } });
    const found = await app.get(`/responses/${body.id}`);
    expect([found.status, found.body]).toEqual([200, body]);
  });

  it('[S-13] deletes once, and then the response is gone from every path', async () => {
    const { body } = await app.create({ input: 'Hi.' });
    const path = `/responses/${body.id}`;
    const answers = [
      await app.remove(path),
      await app.remove(path),
      await app.get(path),
      await app.get(`${path}/input_items`),
    ];
    const gone = {
      error: {
        message: `Response with id '${body.id}' not found.`,
        type: 'invalid_request_error',
        param: 'response_id',
        code: 'response_not_found',
      },
    };
    const { status: continued } = await app.create({ input: 'Hi.', previous_response_id: body.id });
    expect([answers.map((answer) => [answer.status, answer.body]), continued]).toEqual([
      [
        [200, { id: body.id, object: 'response', deleted: true }],
        [404, gone],
        [404, gone],
        [404, gone],
      ],
      400,
    ]);
  });
});

describe('GET /responses/{id}/input_items', () => {
  const INPUT = ['a', 'b', 'c', 'd'].map((id) => ({ id: `msg_${id}`, role: 'user', content: id.toUpperCase() }));

  async function page(query: string): Promise<unknown> {
    const { body } = await app.create({ input: INPUT });
    const { status, body: list } = await app.get(`/responses/${body.id}/input_items${query}`);
    if (status !== 200) return [status, list];
    const { data, ...rest } = list;
    return { ids: (data as readonly Fields[]).map(({ id }) => id), ...rest };
  }

  it('[F-30] fills in the detail of images, as OpenAI does', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
    const content = [image, { ...image, detail: 'high' }, { type: 'input_text', text: 'Hi.' }];
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const { body } = await app.create({
      input: [{ role: 'user', content }, call, { type: 'function_call_output', call_id: 'c', output: [image] }],
    });
    const { body: list } = await app.get(`/responses/${body.id}/input_items?order=asc`);
    const [message, , output] = list.data as readonly Fields[];
    expect([message?.content, output?.output]).toEqual([
      [
        { ...image, detail: 'auto' },
        { ...image, detail: 'high' },
        { type: 'input_text', text: 'Hi.' },
      ],
      [{ ...image, detail: 'auto' }],
    ]);
  });

  it('[S-13] lists the items as they are kept: each with type, id, status and parts', async () => {
    const call_output = { type: 'function_call_output', call_id: 'call_paris', output: 'Sunny.' };
    const { type, function: _, ...rest } = { ...call(PARIS), type: 'function_call' } as Fields;
    const sent = [
      { role: 'user', content: 'Hi.' },
      { type, ...rest, call_id: 'call_paris', name: 'get_weather', arguments: '{}' },
      call_output,
    ];
    const { body } = await app.create({ input: sent });
    const { body: list } = await app.get(`/responses/${body.id}/input_items?order=asc`);
    const seed = body.id.replace('resp_', '');
    expect(list).toEqual({
      object: 'list',
      data: [
        {
          id: `msg_${seed}i0000`,
          type: 'message',
          role: 'user',
          status: 'completed',
          content: [{ type: 'input_text', text: 'Hi.' }],
        },
        { id: 'call_paris', type: 'function_call', call_id: 'call_paris', name: 'get_weather', arguments: '{}' },
        { id: `fco_${seed}i0002`, status: 'completed', ...call_output },
      ],
      first_id: `msg_${seed}i0000`,
      last_id: `fco_${seed}i0002`,
      has_more: false,
    });
  });

  it.each([
    ['', ['msg_d', 'msg_c', 'msg_b', 'msg_a'], false],
    ['?order=asc', ['msg_a', 'msg_b', 'msg_c', 'msg_d'], false],
    ['?limit=2', ['msg_d', 'msg_c'], true],
    ['?limit=2&after=msg_c', ['msg_b', 'msg_a'], false],
    ['?order=asc&limit=1&after=msg_b', ['msg_c'], true],
    ['?order=asc&before=msg_c', ['msg_a', 'msg_b'], false],
    ['?order=asc&after=msg_a&before=msg_d', ['msg_b', 'msg_c'], false],
    ['?limit=100', ['msg_d', 'msg_c', 'msg_b', 'msg_a'], false],
  ])('[S-13] pages with %p', async (query, ids, more) => {
    const [first, last] = [ids[0], ids.at(-1)];
    expect(await page(query)).toEqual({ ids, object: 'list', first_id: first, last_id: last, has_more: more });
  });

  it('[S-13] pages 20 at a time by default', async () => {
    const input = Array.from({ length: 25 }, (_, index) => ({ role: 'user', content: String(index) }));
    const { body } = await app.create({ input });
    const { body: list } = await app.get(`/responses/${body.id}/input_items`);
    expect([(list.data as readonly unknown[]).length, list.has_more]).toEqual([20, true]);
  });

  it.each([
    ['?limit=0', 400, 'limit'],
    ['?limit=101', 400, 'limit'],
    ['?limit=two', 400, 'limit'],
    ['?order=up', 400, 'order'],
    ['?after=msg_z', 404, 'after'],
    ['?before=msg_z', 404, 'before'],
  ])('[S-13] refuses %p, naming the parameter', async (query, status, param) => {
    expect(await page(query)).toEqual([status, { error: expect.objectContaining({ param }) }]);
  });
});

describe('GET /models', () => {
  it("[S-16] passes the upstream's models on, in both shapes that clients read", async () => {
    const { status, body } = await app.get('/models');
    const model = { id: 'fake-model', object: 'model', created: 1_700_000_000, owned_by: 'fake-upstream' };
    expect([status, body]).toEqual([
      200,
      { object: 'list', data: [model], models: [{ ...model, slug: 'fake-model' }] },
    ]);
  });

  it('[S-16] lists nothing where the upstream has no list', async () => {
    await restart({ upstream: upstreamOf(async function* () {}) });
    const { status, body } = await app.get('/models');
    expect([status, body]).toEqual([200, { object: 'list', data: [], models: [] }]);
  });
});

describe('where it is mounted', () => {
  it.each(['/', '/v1', '/a/b'])('[M-18] [M-19] answers all of its paths below %s', async (mount) => {
    await restart({ mount });
    const { status, body } = await app.create({ input: 'Hi.' });
    const others = [await app.get(`/responses/${body.id}`), await app.get('/models')];
    expect([status, ...others.map((answer) => answer.status)]).toEqual([200, 200, 200]);
  });

  it('[M-05] has no path for tool outputs: they come with a new POST /responses', async () => {
    app.upstream.reply({ body: toolCallStream([PARIS]) }, { body: textStream('Sunny.') });
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER] });
    const submitted = await fetch(`${app.url}/responses/${body.id}/submit_tool_outputs`, { method: 'POST' });
    const output = { type: 'function_call_output', call_id: 'call_paris', output: '20 °C' };
    const { status, body: next } = await app.create({ input: [output], previous_response_id: body.id });
    expect([submitted.status, status, next.status]).toEqual([404, 200, 'completed']);
  });

  it("[D-01] answers behind the host's own check of the bearer token", async () => {
    const upstream = await startFakeUpstream();
    const asking = chatCompletionsUpstream({ baseURL: upstream.baseURL });
    const host = express().use('/v1', checkToken, responsesRouter({ upstream: asking, store: memoryStore() }));
    const server = host.listen(0, '127.0.0.1');
    await once(server, 'listening');
    // The cast: a server that listens on TCP has an address.
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/responses`;
    const ask = (token: string) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ model: 'm', input: 'Hi.' }),
      });
    const statuses = [(await ask('right')).status, (await ask('wrong')).status];
    server.close();
    server.closeAllConnections();
    await asking.close?.();
    await upstream.close();
    expect([statuses, upstream.requests.length]).toEqual([[200, 401], 1]);
  });
});

const checkToken: RequestHandler = (req, res, next) => {
  if (req.headers.authorization === 'Bearer right') return next();
  res.status(401).json({ error: { message: 'Bad token.', type: 'invalid_request_error', param: null, code: null } });
};
