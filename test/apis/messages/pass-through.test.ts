/** A model server that speaks the API itself receives the request as it is, and the client its answer, byte for byte. */

import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { functionTools, type ResponseInfo, type RouterOptions } from '../../../src/index.ts';
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import type { FakeReply } from '../../../src/testing/index.ts';
import {
  block,
  messageStart,
  messagesError,
  messagesEvent,
  messagesStream,
  textBlock,
  thinkingBlock,
  toolBlock,
} from '../../upstreams/messages-bytes.ts';
import { messageOf } from './accumulate.ts';
import { ask, askEvents, askJson, eventsIn, lastBody, type MessagesApp, startMessages, USER } from './messages-app.ts';

const KEY = 'sk-ant-test-1234567890';
const responses: ResponseInfo[] = [];
const errors: string[] = [];
const hooks = {
  onResponse: (info: ResponseInfo) => void responses.push(info),
  onError: ({ message }: Error) => void errors.push(message),
};

let app: MessagesApp;
afterEach(async () => {
  responses.length = 0;
  errors.length = 0;
  await app.close();
});

async function start(
  options: RouterOptions = {},
  upstream: Parameters<typeof anthropicUpstream>[0] = {},
): Promise<void> {
  app = await startMessages(({ baseURL }) => ({
    upstream: anthropicUpstream({ baseURL, apiKey: KEY, retries: 0, ...upstream }),
    hooks,
    ...options,
  }));
}

function reply(body: string, more: Partial<Exclude<FakeReply, { hang: true } | { reset: string }>> = {}): void {
  app.fake.reply({ body, headers: { 'content-type': 'text/event-stream' }, ...more });
}

const weather = functionTools({ weather: { execute: () => 'Sunny.' } });
const STREAM = messagesStream([thinkingBlock(0, 'Hm.', 'c2ln'), textBlock(1, 'Hel', 'lo.')]);

it('[X-12] passes a stream on byte for byte', async () => {
  await start();
  reply(STREAM);
  const answer = await ask(app.url, { stream: true, of_the_future: { a: [1] } });
  expect(await answer.text()).toBe(STREAM);
  expect(lastBody(app)).toMatchObject({ stream: true, of_the_future: { a: [1] }, max_tokens: 1024 });
  expect(responses).toMatchObject([{ status: 'completed', usage: { input_tokens: 9, output_tokens: 12 } }]);
});

it('[X-12] [C-29] reads what guards must see instead', async () => {
  await start({ guards: { input: [pii()], output: [pii()] } });
  reply(messagesStream([textBlock(0, 'Ask bob@exam', 'ple.com.')]));
  const messages = [{ role: 'user', content: 'Am I ann@example.com?' }];
  const text = await (await ask(app.url, { stream: true, messages })).text();
  expect([text.includes('bob@'), text.includes('[EMAIL]'), JSON.stringify(lastBody(app)).includes('ann@')]).toEqual([
    false,
    true,
    false,
  ]);
});

it('[X-12] [C-28] counts what is passed on in the budget of the tenant', async () => {
  const budget = tokenBudget({ scope: () => 'a', limits: { tokens: { points: 30, duration: 60 } } });
  await start({ budget, scope: () => 'a' });
  reply(STREAM);
  const left: (string | null)[] = [];
  for (let asked = 0; asked < 2; asked += 1) {
    const answer = await ask(app.url, { stream: true });
    left.push(answer.headers.get('x-ratelimit-remaining-tokens'));
    expect(await answer.text()).toBe(STREAM);
  }
  const refused = await askJson(app.url);
  expect([left, refused.status, refused.body.error.type]).toEqual([['30', '9'], 429, 'rate_limit_error']);
});

it('[X-12] passes a whole message on byte for byte', async () => {
  await start();
  const message =
    '{"id": "msg_1", "type":"message","content":[ ],  "usage":{"input_tokens":3,"output_tokens":4},"x":1}';
  reply(message, { headers: { 'content-type': 'application/json' } });
  const answer = await ask(app.url);
  expect(await answer.text()).toBe(message);
  expect(responses).toMatchObject([{ usage: { input_tokens: 3, output_tokens: 4 }, stream: false }]);
});

it('[X-12] passes on what the client names of the protocol, and none of its secrets', async () => {
  await start();
  reply(STREAM);
  const headers = { 'anthropic-beta': 'a-2025-01-01,b', 'x-api-key': 'of the client', cookie: 'a=b' };
  await (await ask(app.url, { stream: true }, { headers })).text();
  const sent = app.fake.requests.at(-1)?.headers;
  expect(sent).toMatchObject({
    'anthropic-beta': 'a-2025-01-01,b',
    'x-api-key': KEY,
    'anthropic-version': '2023-06-01',
  });
  expect(sent?.cookie).toBeUndefined();
});

it('[X-12] leaves threads to the model server, which holds the rest of them', async () => {
  await start();
  reply(STREAM);
  const thread = { type: 'continue', previous_message_id: 'msg_1' };
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen.' };
  await askEvents(app.url, { thread, messages: [{ role: 'user', content: [result] }] });
  await askEvents(app.url, { thread, messages: [] });
  expect(lastBody(app)).toMatchObject({ thread, messages: [] });
});

it("[X-12] adds the host's own tools of the model server", async () => {
  const serverTools = [{ type: 'web_search_20250305', name: 'web_search' }];
  await start({}, { serverTools });
  reply(STREAM);
  await askEvents(app.url, { tools: [{ name: 'a', input_schema: { type: 'object' } }] });
  expect(lastBody(app).tools).toEqual([{ name: 'a', input_schema: { type: 'object' } }, ...serverTools]);
});

it('[X-12] frames each event by its own type, however it is written', async () => {
  await start();
  const odd =
    messageStart() +
    'data: { "index" : 0, "type" : "content_block_stop" }\n\n' +
    messagesEvent({ type: 'message_stop' });
  reply(odd);
  expect(eventsIn(await (await ask(app.url, { stream: true })).text()).map(({ type }) => type)).toEqual([
    'message_start',
    'content_block_stop',
    'message_stop',
  ]);
});

describe('a failure', () => {
  it('[X-12] has the status, the type and the headers of the server', async () => {
    await start();
    const body = JSON.stringify(messagesError('rate_limit_error', 'Slow down.'));
    app.fake.reply({ status: 429, body, headers: { 'retry-after': '9' } });
    for (const stream of [true, false]) {
      const answer = await askJson(app.url, { stream });
      expect([answer.status, answer.body.error]).toEqual([429, { type: 'rate_limit_error', message: 'Slow down.' }]);
      expect(answer.headers.get('retry-after')).toBe('9');
    }
  });

  it('[X-12] [F-11] shows the client no secret, before the stream and in it', async () => {
    await start();
    const error = messagesError('api_error', `The key ${KEY} is bad.`);
    app.fake.reply({ status: 500, body: JSON.stringify(error) });
    const before = await askJson(app.url, { stream: true });
    reply(messageStart() + messagesEvent(error));
    const within = await (await ask(app.url, { stream: true })).text();
    for (const text of [JSON.stringify(before.body), within, ...errors]) expect(text).not.toContain(KEY);
    expect(eventsIn(within).at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    expect(responses.map(({ status }) => status)).toEqual(['failed']);
  });

  it.each([
    ['is cut off', { cutAfterBytes: 700 }],
    ['ends too early', { body: STREAM.slice(0, STREAM.indexOf('event: message_delta')) }],
  ])('[X-12] that %s ends in an error', async (_name, fault) => {
    await start();
    reply(STREAM, fault);
    const events = await askEvents(app.url);
    expect(messageOf(events)).toBeUndefined();
    expect(errors).toHaveLength(1);
  });

  it('[X-12] that stops sending is timed out, and pinged until then', async () => {
    await start({ limits: { model: { idleTimeoutMs: 300 } }, heartbeat: { intervalMs: 50 } });
    reply(STREAM, { stallAfterBytes: 700 });
    const types = (await askEvents(app.url)).map(({ type }) => type);
    expect(types.filter((type) => type === 'ping').length).toBeGreaterThan(1);
    expect(types.at(-1)).toBe('error');
  });
});

describe('with a tool of the server on offer', () => {
  it('[X-12] [V-01] the turn is run here, and its thoughts stay readable for the server that signed them', async () => {
    await start({ tools: weather });
    reply(
      messagesStream([thinkingBlock(0, 'Hm.', 'c2ln'), toolBlock(1, 'toolu_1', 'theirs', '{"a":1}')], {
        stop: 'tool_use',
      }),
    );
    const tools = [{ name: 'theirs', input_schema: { type: 'object' } }];
    const message = messageOf(await askEvents(app.url, { tools }));
    expect(message).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: expect.stringMatching(/^pst1\./) },
        { type: 'tool_use', id: 'toolu_1', name: 'theirs', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
    });
    reply(STREAM);
    await askEvents(app.url, { tools, messages: answering(message?.content) });
    expect(lastBody(app).messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      { type: 'tool_use', id: 'toolu_1', name: 'theirs', input: { a: 1 } },
    ]);
  });

  it("[X-12] [V-01] thoughts that the server's own answer brought go back as they were", async () => {
    await start({ tools: weather });
    reply(STREAM);
    const thoughts = [
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
    ];
    const call = { type: 'tool_use', id: 'toolu_1', name: 'theirs', input: {} };
    await askEvents(app.url, { messages: answering([...thoughts, call]) });
    expect(lastBody(app).messages[1]?.content).toEqual([...thoughts, call]);
  });

  it('[X-12] results of tools go to it with their images, and with what failed', async () => {
    await start({ tools: weather });
    reply(STREAM);
    const call = (id: string) => ({ type: 'tool_use', id, name: 'theirs', input: {} });
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const seen = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'Seen.' }, image] };
    const blind = { type: 'tool_result', tool_use_id: 'b', content: 'Blind.', is_error: true };
    const messages = [
      USER,
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'user', content: [seen, blind] },
    ];
    await askEvents(app.url, { messages });
    expect(lastBody(app).messages[2]?.content).toEqual([
      seen,
      { ...blind, content: [{ type: 'text', text: 'The tool failed: Blind.' }] },
    ]);
  });

  it.each([
    ['end_turn', 'end_turn'],
    ['max_tokens', 'max_tokens'],
    ['refusal', 'refusal'],
    ['model_context_window_exceeded', 'model_context_window_exceeded'],
  ])('[X-12] its end by %s is one by %s', async (stop, shown) => {
    await start({ tools: weather });
    reply(messagesStream([textBlock(0, 'Hi.')], { stop }));
    const streamed = messageOf(await askEvents(app.url));
    const { body } = await askJson(app.url);
    expect([streamed?.stop_reason, body.stop_reason]).toEqual([shown, shown]);
  });

  it("[X-12] searches of the model's own server are shown, and go back as they were", async () => {
    await start({ tools: weather });
    const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'tea' } };
    const page = { type: 'web_search_result', url: 'https://a.example/', title: 'A', encrypted_content: 'b3BhcXVl' };
    const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [page] };
    const input = { type: 'input_json_delta', partial_json: '{"query":"tea"}' };
    reply(messagesStream([block(0, { ...use, input: {} }, input), block(1, found), textBlock(2, 'Tea.')]));
    const { content = [] } = messageOf(await askEvents(app.url)) ?? {};
    expect(content).toMatchObject([
      { type: 'server_tool_use', name: 'web_search', input: { query: 'tea' } },
      { type: 'web_search_tool_result', content: [{ url: 'https://a.example/' }] },
      { type: 'text', text: 'Tea.' },
    ]);
    reply(STREAM);
    for (const shown of [content, [use, found, { type: 'text', text: 'Tea.' }]]) {
      await askEvents(app.url, { messages: [USER, { role: 'assistant', content: shown }, USER] });
      expect(lastBody(app).messages[1]?.content).toEqual([use, found, { type: 'text', text: 'Tea.' }]);
    }
  });

  it('[X-12] a conversation with such thoughts goes on after the tools are gone', async () => {
    await start({ tools: (request) => (request.headers['x-tools'] ? [weather].flat() : []) });
    reply(messagesStream([thinkingBlock(0, 'Hm.', 'c2ln'), textBlock(1, 'Hi.')]));
    const { content } = (await askJson(app.url, {}, { headers: { 'x-tools': '1' } })).body;
    expect(content[0]?.signature).toMatch(/^pst1\./);
    reply(STREAM);
    await askEvents(app.url, { messages: [USER, { role: 'assistant', content }, USER] });
    expect(lastBody(app).messages[1]?.content).toMatchObject([
      { type: 'thinking', signature: 'c2ln' },
      { text: 'Hi.' },
    ]);
  });
});

function answering(content: unknown): readonly JsonObject[] {
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen.' };
  return [USER, { role: 'assistant', content }, { role: 'user', content: [result] }];
}

const CHOICES = [{}, { tools: [{ name: 'f', input_schema: { type: 'object' } }], tool_choice: { type: 'none' } }];

it.each([
  ['events', STREAM, 'text/event-stream'],
  ['nothing', '', 'application/json'],
  ['a list', '[]', 'application/json'],
  ['no JSON', '{"type":"mess', 'application/json'],
])('[X-12] passes no answer of %s off for the message that was asked for', async (_name, body, type) => {
  await start();
  for (const choice of CHOICES) {
    reply(body, { headers: { 'content-type': type } });
    const answer = await askJson(app.url, choice);
    expect([answer.status, answer.body.error.type]).toEqual([502, 'api_error']);
  }
  expect(responses.map(({ status }) => status)).not.toContain('completed');
});
