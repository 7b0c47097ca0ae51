/** What a model server receives of a Messages request, and what the client receives of its answer. */

import { anthropicModel } from '../../../src/protocol/anthropic/models.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatStream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { messageOf } from './accumulate.ts';
import { ask, askEvents, askJson, lastBody, type MessagesApp, startMessages, USER } from './messages-app.ts';

let app: MessagesApp;
beforeAll(async () => {
  app = await startMessages();
});
afterAll(() => app.close());

/** The body that the model server receives. */
async function sent(body: JsonObject): Promise<ReturnType<typeof lastBody>> {
  app.fake.reply({ body: textStream('Done.') });
  const { status, body: answer } = await askJson(app.url, body);
  if (status !== 200) throw new Error(JSON.stringify(answer));
  return lastBody(app);
}

const TOOL = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } };
const CHAT_TOOL = {
  type: 'function',
  function: { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
};

describe('a request', () => {
  it('[X-12] reaches the model with its system prompt, its limits and its settings', async () => {
    const system = [
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be kind.' },
    ];
    const settings = { temperature: 0.5, top_p: 0.9, top_k: 40, stop_sequences: ['END'], max_tokens: 1 };
    const body = await sent({ system, ...settings, metadata: { user_id: 'u'.repeat(300) } });
    expect(body).toMatchObject({
      model: 'recorded-model',
      messages: [{ role: 'system', content: 'Be brief.\n\nBe kind.' }, USER],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop: ['END'],
      max_tokens: 1,
      safety_identifier: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('[X-12] brings images and documents', async () => {
    const content = [
      { type: 'text', text: 'What are these?' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
      { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'Remember.' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Within.' }] } },
      {
        type: 'search_result',
        source: 'https://example.com',
        title: 'A page',
        content: [{ type: 'text', text: 'Found.' }],
      },
    ];
    const { messages } = await sent({ messages: [{ role: 'user', content }] });
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What are these?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'auto' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'auto' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
          { type: 'text', text: 'Notes' },
          { type: 'text', text: 'Remember.' },
          { type: 'text', text: 'Within.' },
          { type: 'text', text: 'A page\nhttps://example.com\nFound.' },
        ],
      },
    ]);
  });

  it('[X-12] brings calls and their results, in their order', async () => {
    const { messages } = await sent({
      tools: [TOOL],
      messages: [
        USER,
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'this' } },
            { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'Blind.', is_error: true },
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'Seen.' }] },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
    });
    const call = (id: string, args: string) => ({ id, type: 'function', function: { name: 'look', arguments: args } });
    expect(messages).toEqual([
      USER,
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('toolu_1', '{"at":"this"}'), call('toolu_2', '{}')],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Seen.' },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'The tool failed: Blind.' },
      { role: 'user', content: 'And now?' },
    ]);
  });

  it('[X-12] brings images and documents in results, after the results', async () => {
    const content = [
      { type: 'text', text: 'Seen.' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
      { type: 'browser_state', tabs: [] },
    ];
    const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
    const { messages } = await sent({
      tools: [TOOL],
      messages: [
        USER,
        { role: 'assistant', content: [call] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content, is_error: true }] },
      ],
    });
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'toolu_1', content: 'The tool failed:\nSeen.' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'auto' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        ],
      },
    ]);
  });

  it('[X-12] may have messages of one role in a row', async () => {
    const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
    const { messages } = await sent({
      tools: [TOOL],
      messages: [
        USER,
        { role: 'assistant', content: [call] },
        { role: 'assistant', content: 'I look.' },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen.' }] },
        { role: 'user', content: 'And now?' },
      ],
    });
    expect(messages.filter(({ role }) => role === 'tool')).toMatchObject([
      { tool_call_id: 'toolu_1', content: 'Seen.' },
    ]);
  });

  it.each([
    [{ type: 'auto' }, 'auto', undefined],
    [{ type: 'any' }, 'required', undefined],
    [{ type: 'none' }, 'none', undefined],
    [{ type: 'tool', name: 'look' }, { type: 'function', function: { name: 'look' } }, undefined],
    [{ type: 'auto', disable_parallel_tool_use: true }, 'auto', false],
    [{ type: 'any', disable_parallel_tool_use: true }, 'required', false],
    [
      { type: 'tool', name: 'look', disable_parallel_tool_use: true },
      { type: 'function', function: { name: 'look' } },
      false,
    ],
  ])('[X-12] offers its tools with the choice %j', async (tool_choice, chosen, parallel) => {
    const body = await sent({ tools: [TOOL], tool_choice });
    expect(body.tools).toEqual([CHAT_TOOL]);
    expect([body.tool_choice, body.parallel_tool_calls]).toEqual([chosen, parallel]);
  });

  it('[X-12] describes the tools that only its own models know', async () => {
    const tools = [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 100 },
      { type: 'computer_20250124', name: 'computer', display_width_px: 1, display_height_px: 1 },
    ];
    const body = await sent({ tools });
    expect((body.tools as { function: JsonObject }[]).map((tool) => tool.function.name)).toEqual([
      'bash',
      'str_replace_based_edit_tool',
    ]);
  });

  describe('with messages that change its tools', () => {
    const deferred = { ...TOOL, name: 'far', defer_loading: true };
    const offered = async (tools: readonly JsonObject[], ...messages: readonly JsonObject[]) => {
      const body = await sent({ tools, messages: [USER, ...messages] });
      return ((body.tools ?? []) as { function: JsonObject }[]).map((tool) => tool.function.name);
    };
    const system = (...content: readonly JsonObject[]) => ({ role: 'system', content });
    const reference = (name: string) => ({ type: 'tool_reference', name });

    it('[X-12] offers deferred tools once its own search has found them', async () => {
      const found = [{ type: 'tool_reference', tool_name: 'far' }];
      const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] };
      const answer = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: found }] };
      expect(await offered([TOOL, deferred])).toEqual(['look']);
      expect(await offered([TOOL, deferred], call, answer)).toEqual(['look', 'far']);
    });

    it("[X-12] offers all of them where Anthropic's server would search", async () => {
      const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' };
      expect(await offered([search, TOOL, deferred])).toEqual(['look', 'far']);
    });

    it('[X-12] adds tools and takes them away', async () => {
      const inline = { type: 'tool_definition', definition: { ...TOOL, name: 'new' } };
      const add = (tool: JsonObject) => ({ type: 'tool_addition', tool });
      const remove = { type: 'tool_removal', tool: reference('look') };
      expect(await offered([TOOL, deferred], system(add(reference('far')), add(inline), remove))).toEqual([
        'far',
        'new',
      ]);
      expect(await offered([TOOL], system(remove), system(add(reference('look'))))).toEqual(['look']);
    });

    it('[X-12] shows what a system message says as long as it wants', async () => {
      const note = { role: 'system', content: 'Once.', clear_at: 'next_user_message' };
      const always = { role: 'system', content: 'Always.' };
      const says = async (...messages: readonly JsonObject[]) => JSON.stringify((await sent({ messages })).messages);
      expect(await says(USER, note, always)).toContain('Once.');
      const later = await says(USER, note, always, { role: 'assistant', content: 'Hi.' }, USER);
      expect([later.includes('Once.'), later.includes('Always.')]).toEqual([false, true]);
    });
  });

  it.each([
    [{ thinking: { type: 'enabled', budget_tokens: 2048 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 30_000 } }, 'high'],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }, 'low'],
    [{ thinking: { type: 'disabled' } }, undefined],
    [{ thinking: { type: 'between_tools' } }, undefined],
  ])('[X-12] wants %j', async (fields, effort) => {
    expect((await sent({ max_tokens: 64_000, ...fields })).reasoning_effort).toBe(effort);
  });

  it('[X-12] may want JSON', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const { response_format: format } = await sent({ output_config: { format: { type: 'json_schema', schema } } });
    expect(format).toMatchObject({ type: 'json_schema', json_schema: { schema, strict: true } });
  });

  it('[X-12] keeps what is in it that nobody here knows', async () => {
    const headers = { 'anthropic-beta': 'of-the-future-2030-01-01' };
    const { status } = await askJson(app.url, { context_management: { edits: [] }, of_the_future: 1 }, { headers });
    expect(status).toBe(200);
  });
});

describe('an answer', () => {
  const both = async (body: JsonObject = {}) => {
    const { body: json } = await askJson(app.url, body);
    const streamed = messageOf(await askEvents(app.url, body));
    expect(masked(streamed)).toEqual(masked(json));
    return json;
  };
  /** Without what is new in every answer: its id, and the nonce of a seal. */
  const masked = (message: unknown) =>
    JSON.stringify({ ...Object(message), id: '' }).replace(/pst1\.[\w-]+/g, 'SEALED');

  it('[X-12] is text with its usage', async () => {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 12,
      total_tokens: 21,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    const bytes = textStream(['Hel', 'lo.']).replace(/"usage":\{[^}]*\}/, () => `"usage":${JSON.stringify(usage)}`);
    app.fake.reply({ body: bytes });
    expect(await both()).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      type: 'message',
      role: 'assistant',
      model: 'recorded-model',
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 12 },
    });
  });

  it('[X-12] is streamed in the strict order', async () => {
    app.fake.reply({ body: textStream(['Hel', 'lo.']) });
    const events = await askEvents(app.url);
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('[X-12] is calls, one block after the other even where the model mixes them', async () => {
    const delta = (index: number, fields: JsonObject) => ({ tool_calls: [{ index, ...fields }] });
    const start = (index: number) =>
      delta(index, { id: `call_${index}`, type: 'function', function: { name: 'look', arguments: '' } });
    const more = (index: number, text: string) => delta(index, { function: { arguments: text } });
    app.fake.reply({
      body: chatStream(start(0), start(1), more(0, '{"a"'), more(1, '{"b":2'), more(0, ':1}'), more(1, '}')),
    });
    const { content, stop_reason } = await both({ tools: [TOOL] });
    expect(content).toEqual([
      { type: 'tool_use', id: 'call_0', name: 'look', input: { a: 1 } },
      { type: 'tool_use', id: 'call_1', name: 'look', input: { b: 2 } },
    ]);
    expect(stop_reason).toBe('tool_use');
  });

  it('[X-12] is thought before it is text, and the thought goes back to the model', async () => {
    app.fake.reply({
      body: chatStream({ reasoning_content: 'Hm. ' }, { reasoning_content: 'Yes.' }, { content: 'Hi.' }),
    });
    const { content } = await both();
    expect(content).toEqual([
      { type: 'thinking', thinking: 'Hm. Yes.', signature: expect.any(String) },
      { type: 'text', text: 'Hi.' },
    ]);
    const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen.' };
    const { messages } = await sent({
      tools: [TOOL],
      messages: [USER, { role: 'assistant', content: [...content, call] }, { role: 'user', content: [result] }],
    });
    expect(messages[1]).toMatchObject({ content: 'Hi.', reasoning_content: 'Hm. Yes.' });
  });

  it.each([
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['stop', 'end_turn'],
  ])('[X-12] that ended by %s says %s', async (finish, reason) => {
    app.fake.reply({ body: textStream('A').replace('"finish_reason":"stop"', `"finish_reason":"${finish}"`) });
    expect((await both()).stop_reason).toBe(reason);
  });

  it('[X-12] reports which of its stop sequences ended it, where the model server does', async () => {
    const ended = (text: string) => textStream('A').replace('"finish_reason":"stop"', `$&,"stop_reason":${text}`);
    const stop_sequences = ['END', 'STOP'];
    app.fake.reply({ body: ended('"STOP"') });
    expect(await both({ stop_sequences })).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'STOP' });
    app.fake.reply({ body: ended('"eos"') });
    expect(await both({ stop_sequences })).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null });
  });

  it('[X-12] with an argument that is no JSON is a call without input', async () => {
    app.fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'look', arguments: '{"a":' }]) });
    expect((await askJson(app.url, { tools: [TOOL] })).body.content).toMatchObject([{ type: 'tool_use', input: {} }]);
  });
});

describe('the other endpoints', () => {
  it('[X-12] count tokens without calling the model', async () => {
    const before = app.fake.requests.length;
    const count = async (body: JsonObject) => {
      const answer = await ask(app.url, JSON.stringify({ model: 'm', messages: [USER], ...body }), {
        path: '/messages/count_tokens',
      });
      return (await answer.json()) as JsonObject;
    };
    const few = await count({});
    const more = await count({ system: 'A long system prompt, of many words.', tools: [TOOL] });
    expect(few).toEqual({ input_tokens: expect.any(Number) });
    expect(Number(more.input_tokens)).toBeGreaterThan(Number(few.input_tokens) + 5);
    const paths = app.fake.requests.slice(before).map(({ path }) => path);
    expect(paths.filter((path) => !path.endsWith('/models'))).toEqual([]);
  });

  it('[X-12] [S-16] list models in the shape of the client', async () => {
    const get = async (path: string, headers = {}) => {
      const answer = await fetch(app.url + path, { headers });
      return { status: answer.status, body: (await answer.json()) as JsonObject };
    };
    const anthropic = { 'anthropic-version': '2023-06-01' };
    const model = {
      type: 'model',
      id: 'fake-model',
      display_name: 'fake-model',
      created_at: expect.stringMatching(/Z$/),
      max_input_tokens: null,
      max_tokens: null,
      capabilities: null,
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      line: null,
    };
    expect((await get('/models', anthropic)).body).toEqual({
      data: [model],
      has_more: false,
      first_id: 'fake-model',
      last_id: 'fake-model',
    });
    expect((await get('/models/fake-model', anthropic)).body).toEqual(model);
    expect((await get('/models')).body).toMatchObject({ object: 'list', data: [{ id: 'fake-model' }] });
    expect((await get('/models/fake-model')).body).toMatchObject({ id: 'fake-model', object: 'model' });
    expect(await get('/models/none', anthropic)).toMatchObject({
      status: 404,
      body: { type: 'error', error: { type: 'not_found_error' } },
    });
    expect(await get('/models/none')).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
  });

  it('[X-12] [S-16] know the context of each model where the model server does', () => {
    const created_at = '1970-01-01T00:00:00.000Z';
    expect(anthropicModel({ id: 'a', max_model_len: 32_768 })).toMatchObject({ created_at, max_input_tokens: 32_768 });
    expect(anthropicModel({ id: 'a', context_length: 8192, max_tokens: 100 })).toMatchObject({
      max_input_tokens: 8192,
      max_tokens: 100,
    });
    expect(anthropicModel({ id: 'a', max_model_len: 'much', context_window: -1 })).toMatchObject({
      max_input_tokens: null,
    });
  });
});
