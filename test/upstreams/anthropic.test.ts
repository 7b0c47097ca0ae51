/** anthropicUpstream behind a real app: what is sent, what every ending means, errors, thoughts and tools. */
import { type AnthropicOptions, anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { functionTools, type RouterOptions } from '../../src/index.ts';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import type { FakeAnswer } from '../../src/testing/index.ts';
import { askForJson, askForStream, post } from '../support/responses-client.ts';
import { describeShared, readSharedBytes } from '../support/shared.ts';
import { expectWireError, type WireResponse } from '../support/wire-schemas.ts';
import { type MessagesApp, startMessagesApp, streamOf } from './messages-app.ts';
import {
  block,
  messageEnd,
  messageStart,
  messagesError,
  messagesEvent,
  messagesStream,
  textBlock,
  thinkingBlock,
  toolBlock,
} from './messages-bytes.ts';
import { expectMessagesRequest, type MessagesRequest } from './messages-schema.ts';

let app: MessagesApp;

async function start(upstream: AnthropicOptions = {}, options: RouterOptions = {}): Promise<void> {
  app = await startMessagesApp(upstream, options);
}

afterEach(() => app.close());

/** The bodies that the model server was sent, each of which it would take. */
function sent(): readonly MessagesRequest[] {
  return app.fake.requests.map(({ body }) => expectMessagesRequest(body));
}

function answered({ status, incomplete_details, output }: WireResponse) {
  return [status, incomplete_details?.reason, output.map((item) => [item.type, 'status' in item ? item.status : ''])];
}

const CALL = {
  signal: new AbortController().signal,
  headers: new Headers(),
  limits: { ...DEFAULT_LIMITS, idleTimeoutMs: 5000, eventBytes: 1000 },
  note: () => {},
};

const HELLO = streamOf(messagesStream([textBlock(0, 'Hello')]));

describe('a request', () => {
  const headersOf = ({
    'x-api-key': key,
    'anthropic-version': version,
    authorization,
    'x-team': team,
  }: object & {
    readonly [name: string]: unknown;
  }) => ({ key, version, authorization, team });

  it("[X-07] [P-14] goes to /v1/messages with the key and the version, without the client's own key", async () => {
    await start({ apiKey: 'sk-ant-key-1', version: '2024-01-01', headers: { 'X-Team': 'blue' } });
    app.fake.reply(HELLO);
    await post(app.url, {});
    const [request] = app.fake.requests;
    expect([request?.method, request?.path, headersOf(request?.headers ?? {})]).toEqual([
      'POST',
      '/v1/messages',
      { key: 'sk-ant-key-1', version: '2024-01-01', authorization: undefined, team: 'blue' },
    ]);
  });

  it.each(['', '/', '/v1', '/v1/'])('[X-07] finds the path under an address that ends in "%s"', async (end) => {
    await start();
    app.fake.reply(HELLO);
    const upstream = anthropicUpstream({ baseURL: new URL(app.fake.baseURL).origin + end });
    for await (const _ of upstream.stream({ model: 'm', items: [], tools: [] }, CALL));
    await upstream.close?.();
    expect(app.fake.requests.map(({ path, headers }) => [path, headers['x-api-key']])).toEqual([
      ['/v1/messages', undefined],
    ]);
  });

  describe('without options', () => {
    const before = { ...process.env };
    afterEach(() => {
      process.env = { ...before };
    });

    it('[X-07] [P-14] goes where the environment says, and takes its key nowhere else', async () => {
      await start();
      app.fake.reply(HELLO);
      const { origin } = new URL(app.fake.baseURL);
      process.env.ANTHROPIC_BASE_URL = origin;
      process.env.ANTHROPIC_API_KEY = 'sk-ant-environment';
      const upstreams = [anthropicUpstream(), anthropicUpstream({ baseURL: origin })];
      for (const upstream of upstreams) {
        for await (const _ of upstream.stream({ model: 'm', items: [], tools: [] }, CALL));
        await upstream.close?.();
      }
      expect(app.fake.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['sk-ant-environment', undefined]);
    });
  });

  it('[X-07] holds what the client asked for', async () => {
    await start();
    app.fake.reply(HELLO);
    await post(app.url, { model: 'claude', instructions: 'Be kind.', input: 'Hi.', max_output_tokens: 99 });
    expect(sent()).toEqual([
      {
        model: 'claude',
        max_tokens: 99,
        stream: true,
        system: [{ type: 'text', text: 'Be kind.' }],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }],
      },
    ]);
  });
});

describe('the end of an answer', () => {
  it.each([
    ['end_turn', ['completed', undefined, [['message', 'completed']]]],
    ['stop_sequence', ['completed', undefined, [['message', 'completed']]]],
    ['max_tokens', ['incomplete', 'max_output_tokens', [['message', 'incomplete']]]],
    ['model_context_window_exceeded', ['incomplete', 'max_output_tokens', [['message', 'incomplete']]]],
    ['refusal', ['incomplete', 'content_filter', [['message', 'incomplete']]]],
    ['of_the_future', ['completed', undefined, [['message', 'completed']]]],
  ])('[X-07] [S-11] is reported where the model stopped for %s', async (stop, expected) => {
    await start();
    app.fake.reply(streamOf(messagesStream([textBlock(0, 'Hello')], { stop })));
    expect(answered((await askForStream(app.url)).response)).toEqual(expected);
  });

  it('[X-07] [S-11] leaves a thought that was cut off incomplete, and without a way back', async () => {
    await start();
    const cut = block(0, { type: 'thinking', thinking: '', signature: '' }, { type: 'thinking_delta', thinking: 'Hm' });
    app.fake.reply(streamOf(messagesStream([cut], { stop: 'max_tokens' })));
    const { output } = await askForJson(app.url);
    expect(output).toEqual([
      expect.objectContaining({
        type: 'reasoning',
        status: 'incomplete',
        summary: [{ type: 'summary_text', text: 'Hm' }],
      }),
    ]);
    expect(output[0]).not.toHaveProperty('encrypted_content');
  });

  it('[X-07] [P-08] may lack its last event where the reason was given', async () => {
    await start();
    const whole = messageStart() + textBlock(0, 'Hello') + messageEnd();
    app.fake.reply(streamOf(whole.replace(messagesEvent({ type: 'message_stop' }), 'data: [DONE]\n\n')));
    expect(answered(await askForJson(app.url))).toEqual(['completed', undefined, [['message', 'completed']]]);
  });

  it('[X-07] [P-08] is no end where the reason is missing', async () => {
    await start();
    const end = messagesEvent({ type: 'message_stop' });
    app.fake.reply(streamOf(messageStart() + textBlock(0, 'Hello') + end));
    const { status, error } = (await askForStream(app.url)).response;
    expect([status, error?.reason]).toEqual(['failed', 'upstream_truncated']);
  });

  it('[X-07] [S-10] [F-26] reports usage with the cache in it', async () => {
    await start();
    const input = { input_tokens: 5, cache_read_input_tokens: 70, cache_creation_input_tokens: 25 };
    const more = { ...input, output_tokens_details: { thinking_tokens: 4 } };
    app.fake.reply(streamOf(messagesStream([textBlock(0, 'Hello')], { input: more, output: 8 })));
    expect((await askForJson(app.url)).usage).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 70, cache_write_tokens: 25 },
      output_tokens: 8,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 108,
    });
  });
});

describe('what is in an answer', () => {
  it('[X-07] [P-02] [P-03] [S-08] becomes items in its order', async () => {
    await start();
    const frames = [
      thinkingBlock(0, 'Hm.', 'c2ln'),
      block(1, { type: 'redacted_thinking', data: 'ZGF0YQ==' }),
      textBlock(2, 'Let me ', 'see.'),
      toolBlock(3, 'toolu_1', 'look', '{"at":"sea"}'),
      block(4, { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} }),
      block(5, { type: 'tool_use', id: 'toolu_3', name: 'look', input: { at: 'sky' } }),
    ];
    app.fake.reply(streamOf(messagesStream(frames, { stop: 'tool_use' })));
    const { output } = (await askForStream(app.url, { tools: [{ type: 'function', name: 'look' }] })).response;
    const reduced = output.map((item) => {
      if (item.type === 'reasoning')
        return [item.summary.map(({ text }) => text).join(), app.unsealed(item.encrypted_content)];
      if (item.type === 'function_call') return [item.call_id, item.arguments];
      return item.type === 'message' ? item.content.map((part) => 'text' in part && part.text) : item;
    });
    expect(reduced).toEqual([
      ['Hm.', { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }],
      ['', { type: 'redacted_thinking', data: 'ZGF0YQ==' }],
      ['Let me see.'],
      ['toolu_1', '{"at":"sea"}'],
      ['toolu_2', '{}'],
      ['toolu_3', '{"at":"sky"}'],
    ]);
  });

  it('[X-07] [P-08] is whole where its blocks never stop', async () => {
    await start();
    const stop = /event: content_block_stop\n.+\n\n/g;
    const frames = [
      thinkingBlock(0, 'Hm.', 'c2ln'),
      block(0, { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } }),
    ];
    app.fake.reply(streamOf(messagesStream(frames).replaceAll(stop, '')));
    const { output } = (await askForStream(app.url)).response;
    expect(output).toMatchObject([
      { type: 'reasoning', encrypted_content: expect.any(String) },
      { type: 'function_call', arguments: '{"at":1}' },
    ]);
  });

  it('[X-07] [P-08] is whole where its blocks never start', async () => {
    await start();
    const starts = /event: content_block_start\n.+\n\n/g;
    const frames = [thinkingBlock(0, 'Hm.', 'c2ln'), textBlock(1, 'Hel', 'lo')];
    app.fake.reply(streamOf(messagesStream(frames).replaceAll(starts, '')));
    const { output } = (await askForStream(app.url)).response;
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Hm.' }], encrypted_content: expect.any(String) },
      { type: 'message', content: [{ text: 'Hello' }] },
    ]);
  });

  it('[X-07] [S-09] cites the web with the place in the text, and no documents', async () => {
    await start();
    const web = { type: 'web_search_result_location', url: 'https://example.com/a', title: 'A', cited_text: '…' };
    const page = { type: 'char_location', document_index: 0, cited_text: '…' };
    const cite = (citation: object) => ({ type: 'citations_delta', citation });
    const text = (words: string) => ({ type: 'text_delta', text: words });
    const frames = [
      textBlock(0, 'It is '),
      block(1, { type: 'text', text: '', citations: [] }, cite(web), text('wa'), cite(page), text('rm')),
      textBlock(2, '.'),
    ];
    app.fake.reply(streamOf(messagesStream(frames)));
    const [message] = (await askForStream(app.url)).response.output;
    const annotation = {
      type: 'url_citation',
      url: 'https://example.com/a',
      title: 'A',
      start_index: 6,
      end_index: 10,
    };
    expect(message).toMatchObject({ content: [{ text: 'It is warm.', annotations: [annotation] }] });
  });

  it.each([
    ['a thought', thinkingBlock(1, 'Hm.', 'c2ln')],
    ['a call', toolBlock(1, 'toolu_1', 'look', '{}')],
  ])(
    '[X-07] [S-09] counts the place of a citation from the start of its message, after %s too',
    async (_what, between) => {
      await start();
      const found = { type: 'search_result_location', source: 'https://example.com/a', cited_text: '…' };
      const script = { type: 'search_result_location', source: 'javascript:alert(1)', cited_text: '…' };
      const cited = block(2, { type: 'text', text: 'Warm', citations: [found, script] });
      app.fake.reply(streamOf(messagesStream([textBlock(0, 'I look.'), between, cited])));
      const last = (await askForStream(app.url)).response.output.at(-1);
      const annotation = {
        type: 'url_citation',
        url: 'https://example.com/a',
        title: '',
        start_index: 0,
        end_index: 4,
      };
      expect(last).toMatchObject({ content: [{ text: 'Warm', annotations: [annotation] }] });
    },
  );

  it('[X-07] [P-05] takes the input that came in pieces for the whole', async () => {
    await start();
    const call = { type: 'tool_use', id: 'a', name: 'look', input: { at: 'x' } };
    const delta = { type: 'input_json_delta', partial_json: '{"at":"y"}' };
    app.fake.reply(streamOf(messagesStream([block(0, call, delta)], { stop: 'tool_use' })));
    expect((await askForJson(app.url)).output).toMatchObject([{ arguments: '{"at":"y"}' }]);
  });

  it('[X-07] [S-03] is noted, once for each type, where there is no item for it', async () => {
    const notes: string[] = [];
    await start({}, { hooks: { onNote: ({ code, message }) => notes.push(`${code} ${message}`) } });
    const run = (index: number) =>
      block(
        index,
        { type: 'server_tool_use', id: 'srv_1', name: 'code_execution', input: {} },
        { type: 'input_json_delta', partial_json: '{}' },
      );
    const ran = block(2, { type: 'code_execution_tool_result', tool_use_id: 'srv_1', content: {} });
    app.fake.reply(streamOf(messagesStream([run(0), run(1), ran, textBlock(3, 'Found.')])));
    const { output } = (await askForStream(app.url)).response;
    expect([output.map(({ type }) => type), notes]).toEqual([
      ['message'],
      [
        "item_skipped Output blocks of type 'server_tool_use' have no item here.",
        "item_skipped Output blocks of type 'code_execution_tool_result' have no item here.",
      ],
    ]);
  });

  it.each([
    ['events of the future', messagesEvent({ type: 'message_thing', index: 0 })],
    ['deltas of the future', messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'x', y: 1 } })],
    [
      'deltas of no block',
      messagesEvent({ type: 'content_block_delta', index: 7, delta: { type: 'text_delta', text: 'no' } }),
    ],
    ['blocks that are none', messagesEvent({ type: 'content_block_start', index: 1, content_block: null })],
    ['deltas that are none', messagesEvent({ type: 'content_block_delta', index: 0, delta: null })],
    ['stops of no block', messagesEvent({ type: 'content_block_stop', index: '__proto__' })],
    ['a ping', messagesEvent({ type: 'ping' })],
    ['usage that is none', messagesEvent({ type: 'message_delta', delta: null, usage: { output_tokens: 'x' } })],
  ])('[X-07] [P-14] reports what it says whatever else comes: %s', async (_what, frame) => {
    await start();
    const [opened = '', rest = ''] = textBlock(0, 'Hello').split(/(?<=\n\n)(?=event: content_block_delta)/);
    app.fake.reply(streamOf(messagesStream([opened, frame, rest])));
    const { status, output } = (await askForStream(app.url)).response;
    expect([status, output]).toEqual([
      'completed',
      [expect.objectContaining({ content: [expect.objectContaining({ text: 'Hello' })] })],
    ]);
  });
});

describe('an error', () => {
  async function refused(reply: FakeAnswer) {
    await start();
    app.fake.reply(reply);
    const { status, headers, text } = await post(app.url, {});
    const { code, type, message } = expectWireError(JSON.parse(text)).error;
    return { status, code, type, message, after: headers.get('retry-after') };
  }
  const reply = (status: number, type: string, message = 'No.'): FakeAnswer => ({
    status,
    headers: { 'retry-after': '7' },
    body: JSON.stringify({ ...messagesError(type, message), request_id: 'req_1' }),
  });

  it.each([
    [400, 'invalid_request_error', 400, 'invalid_request'],
    [401, 'authentication_error', 401, 'invalid_api_key'],
    [403, 'permission_error', 403, 'permission_denied'],
    [404, 'not_found_error', 404, 'not_found'],
    [413, 'request_too_large', 413, 'request_too_large'],
    [429, 'rate_limit_error', 429, 'rate_limit_exceeded'],
    [500, 'api_error', 500, 'upstream_error'],
    [529, 'overloaded_error', 503, 'upstream_unavailable'],
  ])('[X-07] [P-09] of status %d is reported in the envelope: %s', async (status, type, reported, code) => {
    expect(await refused(reply(status, type))).toMatchObject({ status: reported, code, message: 'No.', after: '7' });
  });

  it.each([429, 503, 529])('[X-07] [P-09] of status %d is tried again', async (status) => {
    await start({ retries: 1 });
    app.fake.reply({ ...reply(status, 'overloaded_error'), headers: { 'retry-after-ms': '1' } }, HELLO);
    expect([(await askForJson(app.url)).status, app.fake.requests.length]).toEqual(['completed', 2]);
  });

  it('[X-07] [P-09] in a stream is reported after the output, with its code', async () => {
    await start();
    const error = messagesEvent(messagesError('overloaded_error', 'Overloaded'));
    app.fake.reply(streamOf(messageStart() + textBlock(0, 'Hel') + error));
    const { status, error: reported, output } = (await askForStream(app.url)).response;
    expect([status, reported, output.length]).toEqual([
      'failed',
      {
        code: 'server_error',
        message: 'Overloaded',
        type: 'overloaded_error',
        param: null,
        reason: 'upstream_unavailable',
      },
      1,
    ]);
  });

  it('[X-07] [P-09] before any output has its status', async () => {
    await start();
    app.fake.reply(streamOf(messagesEvent(messagesError('overloaded_error', 'Overloaded'))));
    expect((await post(app.url, {})).status).toBe(503);
  });

  it('[X-07] [P-08] is reported where an answer is no message', async () => {
    await start();
    app.fake.reply({ body: '{"hello":"there"}' });
    expect((await post(app.url, {})).status).toBe(502);
  });
});

describeShared('a recorded refusal of Anthropic', () => {
  it.each([
    ['anthropic-401-completion-invalid-api-key-1', 401, 'authentication_error', 'invalid_api_key', 'invalid x-api-key'],
    ['anthropic-404-client-error-1', 404, 'not_found_error', 'model_not_found', 'model: there-is-no-such-model'],
  ])('[X-07] [P-09] [Q-03] is reported: %s', async (name, status, type, code, message) => {
    await start();
    app.fake.reply({ status, body: readSharedBytes(`corpus/errors/${name}.json`) });
    const { text, ...answer } = await post(app.url, {});
    expect([answer.status, expectWireError(JSON.parse(text)).error]).toEqual([
      status,
      { type, code, message, param: null },
    ]);
  });
});

describe('tools that the server runs', () => {
  const tools = functionTools({ look: { execute: () => 'Fog.' } });
  const asks = (round: number) =>
    streamOf(
      messagesStream([thinkingBlock(0, `Hm ${round}.`, `c2ln${round}`), toolBlock(1, `toolu_${round}`, 'look', '{}')], {
        stop: 'tool_use',
      }),
    );
  const thinks = (round: number) => [
    { type: 'thinking', thinking: `Hm ${round}.`, signature: `c2ln${round}` },
    { type: 'tool_use', id: `toolu_${round}`, name: 'look', input: {} },
  ];
  const results = (round: number) => [
    { type: 'tool_result', tool_use_id: `toolu_${round}`, content: [{ type: 'text', text: 'Fog.' }] },
  ];

  it.each(['mcp_call', 'function_call'] as const)(
    '[X-07] [T-02] [S-08] give the model its thoughts back in each round, calls shown as %s',
    async (shownAs) => {
      await start({}, { tools, show: { toolCalls: shownAs } });
      app.fake.reply(asks(1), asks(2), HELLO);
      const body = { reasoning: { effort: 'high' } };
      const { response } = await askForStream(app.url, body);
      await post(app.url, { ...body, previous_response_id: response.id, input: 'And?' });
      const expected = [
        { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
        { role: 'assistant', content: thinks(1) },
        { role: 'user', content: results(1) },
        { role: 'assistant', content: thinks(2) },
        { role: 'user', content: results(2) },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
        { role: 'user', content: [{ type: 'text', text: 'And?' }] },
      ];
      expect(sent().map(withCallIds)).toEqual([1, 3, 5, 7].map((length) => expected.slice(0, length)));
    },
  );

  /** The messages; an `mcp_call` of an earlier turn, which does not keep the model's call id, gets it back. */
  function withCallIds({ messages }: MessagesRequest): unknown {
    const text = JSON.stringify(messages);
    const own = [...new Set(text.match(/mcp_\w+/g))];
    return JSON.parse(text.replaceAll(/mcp_\w+/g, (id) => `toolu_${own.indexOf(id) + 1}`));
  }

  it('[X-07] [S-08] give thoughts back to a client that keeps its own history', async () => {
    await start();
    app.fake.reply(asks(1), HELLO);
    const body = { tools: [{ type: 'function', name: 'look' }], store: false };
    const { output } = await askForJson(app.url, body);
    const answer = { type: 'function_call_output', call_id: 'toolu_1', output: 'Fog.' };
    await post(app.url, { ...body, input: [{ role: 'user', content: 'Go.' }, ...output, answer] });
    expect(sent()[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: thinks(1) },
      { role: 'user', content: results(1) },
    ]);
  });
});

describe('the models', () => {
  it('[X-07] [S-16] are listed as OpenAI lists its own', async () => {
    await start();
    const answer = await fetch(`${app.url}/models`);
    const { data } = (await answer.json()) as { data: unknown };
    expect([data, app.fake.requests[0]?.path]).toEqual([
      [{ id: 'fake-model', object: 'model', created: 0, owned_by: 'anthropic' }],
      '/v1/models?limit=1000',
    ]);
  });
});
