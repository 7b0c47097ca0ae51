/** Requests that are wrong: each has an answer in Anthropic's envelope, in its words, and the server lives on. */

import express from 'express';
import { chatCompletionsRouter, messagesRouter, responsesRouter } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatChunk, textStream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { ask, askEvents, askJson, type MessagesApp, startMessages, USER } from './messages-app.ts';

let app: MessagesApp;
beforeAll(async () => {
  app = await startMessages();
});
afterAll(() => app.close());

const asUser = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] });
const answered = (...content: readonly unknown[]) => ({ messages: [USER, { role: 'assistant', content }, USER] });
const image = (source: unknown) => asUser({ type: 'image', source });
const document = (source: unknown) => asUser({ type: 'document', source });
const tool = (fields: JsonObject) => ({ tools: [{ name: 'look', input_schema: { type: 'object' }, ...fields }] });
const use = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen.' };
const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown;
const GONE = undefined;
/** `String` throws for it. */
const ODD = { toString: 1 };

const FAULTS: readonly (readonly [name: string, body: JsonObject | string, message: string])[] = [
  ['no JSON', '{', 'We could not parse the JSON body'],
  ['a list', '[]', 'must be a JSON object'],
  ['a text', '"a"', 'must be a JSON object'],
  ['null', 'null', 'must be a JSON object'],
  ['no model', { model: GONE }, 'model: Field required'],
  ['an empty model', { model: '' }, 'model: String should have at least 1 character'],
  ['a model that is a number', { model: 4 }, 'model: Input should be a valid string'],
  ['no max_tokens', { max_tokens: GONE }, 'max_tokens: Field required'],
  ['max_tokens of 0', { max_tokens: 0 }, 'max_tokens: Input should be greater than or equal to 1'],
  ['a fraction of a token', { max_tokens: 1.5 }, 'max_tokens: Input should be a valid integer'],
  ['max_tokens as text', { max_tokens: '8' }, 'max_tokens: Input should be a valid integer'],
  ['no messages', { messages: GONE }, 'messages: Field required'],
  ['messages as text', { messages: 'Hi.' }, 'messages: Input should be a valid list'],
  ['an empty conversation', { messages: [] }, 'messages: at least one message is required'],
  ['a message as text', { messages: ['Hi.'] }, 'messages.0: Input should be a valid dictionary'],
  ['no role', { messages: [{ content: 'Hi.' }] }, 'messages.0.role: Field required'],
  ['an unknown role', { messages: [{ role: 'tool', content: 'Hi.' }] }, 'messages: Unexpected role "tool"'],
  ['no content', { messages: [{ role: 'user' }] }, 'messages.0.content: Field required'],
  [
    'content as a number',
    { messages: [{ role: 'user', content: 4 }] },
    'messages.0.content: Input should be a valid list',
  ],
  [
    'empty content',
    { messages: [{ role: 'user', content: '' }] },
    'messages.0: all messages must have non-empty content',
  ],
  ['an empty list of blocks', asUser(), 'messages.0: all messages must have non-empty content'],
  ['an empty answer in the middle', answered(), 'messages.1: all messages must have non-empty content'],
  ['a block as text', asUser('Hi.'), 'messages.0.content.0: Input should be a valid dictionary'],
  ['a block of null', asUser(null), 'messages.0.content.0: Input should be a valid dictionary'],
  [
    'a block without type',
    asUser({ text: 'Hi.' }),
    "messages.0.content.0: Unable to extract tag using discriminator 'type'",
  ],
  [
    'an unknown block',
    asUser({ type: 'video' }),
    "messages.0.content.0: Input tag 'video' found using 'type' does not match",
  ],
  ['a block of a prototype', asUser({ type: 'constructor' }), "messages.0.content.0: Input tag 'constructor' found"],
  ['a text without text', asUser({ type: 'text' }), 'messages.0.content.0.text.text: Field required'],
  ['an empty text', asUser({ type: 'text', text: '' }), 'messages: text content blocks must be non-empty'],
  ['an image without source', asUser({ type: 'image' }), 'messages.0.content.0.image.source: Field required'],
  ['an unknown source', image({ type: 'ftp' }), "messages.0.content.0.image.source: Input tag 'ftp'"],
  [
    'an image without data',
    image({ type: 'base64', media_type: 'image/png' }),
    'image.source.base64.data: Field required',
  ],
  [
    'an image of another type',
    image({ type: 'base64', media_type: 'image/tiff', data: 'AAAA' }),
    "media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
  ],
  ['an image without address', image({ type: 'url' }), 'image.source.url.url: Field required'],
  [
    'a document of another type',
    document({ type: 'base64', media_type: 'text/html', data: 'AAAA' }),
    "document.source.base64.media_type: Input should be 'application/pdf'",
  ],
  ['a call of the user', asUser(use), 'messages.0: `tool_use` blocks can only be in `assistant` messages'],
  [
    'a thought of the user',
    asUser({ type: 'thinking', thinking: 'Hm.', signature: '' }),
    '`thinking` blocks can only be',
  ],
  ['a result of the model', answered(result), 'messages.1: `tool_result` blocks can only be in `user` messages'],
  [
    'an image of the model',
    answered({ type: 'image', source: { type: 'url', url: 'https://a' } }),
    '`image` blocks can only',
  ],
  [
    'a result without call',
    asUser(result),
    'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1',
  ],
  [
    'a call without result',
    answered(use),
    '`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1',
  ],
  [
    'a second result',
    { messages: [USER, { role: 'assistant', content: [use] }, { role: 'user', content: [result, result] }] },
    'each tool_use must have a single result',
  ],
  ['a second call', answered(use, use), '`tool_use` ids must be unique'],
  ['a call without name', answered({ ...use, name: GONE }), 'messages.1.content.0.tool_use.name: Field required'],
  [
    'a call with text as input',
    answered({ ...use, input: '{}' }),
    'tool_use.input: Input should be a valid dictionary',
  ],
  [
    'a thought without signature',
    answered({ type: 'thinking', thinking: 'Hm.' }),
    'thinking.signature: Field required',
  ],
  [
    'a result with a number',
    { messages: [USER, { role: 'assistant', content: [use] }, { role: 'user', content: [{ ...result, content: 4 }] }] },
    'messages.2.content.0.tool_result.content: Input should be a valid list',
  ],
  ['a system prompt as a number', { system: 4 }, 'system: Input should be a valid list'],
  ['an image as system prompt', { system: [{ type: 'image' }] }, "system.0: Input tag 'image'"],
  ['stream as text', { stream: 'yes' }, 'stream: Input should be a valid boolean'],
  ['a temperature over 1', { temperature: 1.5 }, 'temperature: range: 0..1'],
  ['a negative top_p', { top_p: -1 }, 'top_p: range: 0..1'],
  ['a negative top_k', { top_k: -1 }, 'top_k: Input should be greater than or equal to 0'],
  ['stop_sequences as text', { stop_sequences: 'END' }, 'stop_sequences: Input should be a valid list'],
  ['a number among them', { stop_sequences: [4] }, 'stop_sequences.0: Input should be a valid string'],
  ['metadata as text', { metadata: 'me' }, 'metadata: Input should be a valid dictionary'],
  [
    'a small thinking budget',
    { thinking: { type: 'enabled', budget_tokens: 10 } },
    'budget_tokens: Input should be greater than or equal to 1024',
  ],
  [
    'a thinking budget over max_tokens',
    { thinking: { type: 'enabled', budget_tokens: 2048 } },
    '`max_tokens` must be greater than `thinking.budget_tokens`',
  ],
  ['unknown thinking', { thinking: { type: 'deep' } }, "thinking: Input tag 'deep'"],
  [
    'an unknown display of it',
    { thinking: { type: 'adaptive', display: 'all' } },
    "thinking.adaptive.display: Input should be 'summarized', 'omitted' or 'updates'",
  ],
  [
    'a display of it that is true',
    { max_tokens: 2048, thinking: { type: 'enabled', budget_tokens: 1024, display: true } },
    "thinking.enabled.display: Input should be 'summarized', 'omitted' or 'updates'",
  ],
  ['tools as an object', { tools: {} }, 'tools: Input should be a valid list'],
  ['a tool as text', { tools: ['look'] }, 'tools.0: Input should be a valid dictionary'],
  ['a tool without schema', tool({ input_schema: GONE }), 'tools.0.custom.input_schema: Field required'],
  [
    'a schema of a list',
    tool({ input_schema: { type: 'array' } }),
    "tools.0.custom.input_schema.type: Input should be 'object'",
  ],
  ['a tool with a blank', tool({ name: 'look at' }), 'tools.0.custom.name: String should match pattern'],
  ['two tools of a name', { tools: [...tool({}).tools, ...tool({}).tools] }, 'tools: Tool names must be unique.'],
  ['an unknown choice', { ...tool({}), tool_choice: { type: 'some' } }, "tool_choice: Input tag 'some'"],
  ['a choice as text', { ...tool({}), tool_choice: 'auto' }, 'tool_choice: Input should be a valid dictionary'],
  [
    'a choice without tools',
    { tool_choice: { type: 'any' } },
    '`tool_choice` may only be specified while providing `tools`',
  ],
  [
    'the choice of another tool',
    { ...tool({}), tool_choice: { type: 'tool', name: 'b' } },
    "Tool 'b' not found in provided tools",
  ],
  ['an MCP server without URL', { mcp_servers: [{ name: 'a' }] }, 'mcp_servers.0.url: Field required'],
  ['a tool whose type is an object', { tools: [{ type: ODD }] }, 'tools.0.type: Input should be a valid string'],
  ['a tool whose name is one', tool({ name: ODD }), 'tools.0.custom.name: Input should be a valid string'],
  ['a block whose type is one', asUser({ type: ODD }), 'messages.0.content.0: Input tag'],
  [
    'a role that is one',
    { messages: [{ role: ODD, content: 'a' }] },
    'messages.0.role: Input should be a valid string',
  ],
  ['a choice whose type is one', { ...tool({}), tool_choice: { type: ODD } }, 'tool_choice: Input tag'],
  ['deep nesting', { metadata: { user_id: 'a', more: nested(200) } }, 'nested deeper than'],
  ['a prototype', `{"model":"m","max_tokens":1,"messages":[],"__proto__":{}}`, "Invalid key '__proto__'"],
];

it('[X-12] are many', () => expect(FAULTS.length).toBeGreaterThan(60));

it.each(FAULTS)('[X-12] %s', async (_name, body, message) => {
  const before = app.fake.requests.length;
  const answer = await askJson(app.url, body);
  const id = answer.headers.get('request-id');
  expect(answer.body).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: expect.stringContaining(message) },
    request_id: id,
  });
  expect([answer.status, id]).toEqual([400, answer.headers.get('x-request-id')]);
  expect(app.fake.requests.length).toBe(before);
});

it('[X-12] a thread is refused so that the SDK goes on without', async () => {
  const answer = await askJson(app.url, { thread: { type: 'create' } });
  expect([answer.status, answer.body.error]).toMatchObject([
    400,
    {
      type: 'invalid_request_error',
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    },
  ]);
});

describe('an error of the model server', () => {
  it.each([
    [400, 'invalid_request_error', 400],
    [401, 'authentication_error', 401],
    [402, 'billing_error', 402],
    [403, 'permission_error', 403],
    [404, 'not_found_error', 404],
    [409, 'conflict_error', 409],
    [413, 'request_too_large', 413],
    [429, 'rate_limit_error', 429],
    [500, 'api_error', 500],
    [503, 'overloaded_error', 503],
    [504, 'timeout_error', 504],
    [529, 'overloaded_error', 503],
  ])('[X-12] %i has the type %s', async (status, type, shown) => {
    app.fake.reply({ status, body: '{"error":{"message":"No."}}', headers: { 'retry-after': '7' } });
    for (const stream of [false, true]) {
      const answer = await askJson(app.url, { stream });
      expect(answer.body.error).toEqual({ type, message: 'No.' });
      expect(answer.status).toBe(shown);
    }
  });

  it.each([
    [
      "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
      "prompt is too long: This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
    ],
    [
      'Input length (40000 tokens) exceeds the maximum allowed length (32768 tokens).',
      'prompt is too long: Input length (40000 tokens) exceeds the maximum allowed length (32768 tokens).',
    ],
    ['prompt is too long: 210000 tokens > 200000 maximum', 'prompt is too long: 210000 tokens > 200000 maximum'],
    [
      'input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000',
      'input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000',
    ],
  ])("[X-12] about a full context is in Anthropic's words: %s", async (reported, shown) => {
    app.fake.reply({ status: 400, body: JSON.stringify({ error: { message: reported } }) });
    for (const stream of [false, true]) {
      const { status, body } = await askJson(app.url, { stream });
      expect([status, body.error]).toEqual([400, { type: 'invalid_request_error', message: shown }]);
    }
  });

  it('[X-12] in the middle of a call of the client’s leaves it to the client to send the request again', async () => {
    const call = chatChunk({
      tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{"a' } }],
    });
    app.fake.reply({ body: [call, ' '], cutAfterBytes: 1e6 });
    const tools = [{ name: 'look', input_schema: { type: 'object' } }];
    const { status, headers } = await ask(app.url, { tools });
    expect([status, headers.get('x-should-retry')]).toEqual([502, null]);
  });

  it('[X-12] in the middle of a stream is its last event', async () => {
    const whole = textStream(['Hel', 'lo.']);
    app.fake.reply({ body: whole, cutAfterBytes: whole.indexOf('"finish_reason":"stop"') - 100 });
    const events = await askEvents(app.url);
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    expect(events.some(({ type }) => type === 'message_stop')).toBe(false);
  });
});

describe('behind the other routers', () => {
  it('[X-12] [X-01] it answers its own paths, and leaves all others to the host', async () => {
    const app = express();
    const options = {};
    app.use('/v1', responsesRouter(options), chatCompletionsRouter(options), messagesRouter(options));
    app.use((_req, res) => void res.status(404).json({ host: true }));
    const { url, close } = await listening(app);
    const paths = ['/v1/messages/batches', '/v1/nothing', '/v1/messages/count_tokens/a', '/messages'];
    const hosts = await Promise.all(paths.map(async (path) => (await ask(url, {}, { path })).json()));
    const own = await askJson(`${url}/v1`, { model: '' });
    const others = await ask(url, '{', { path: '/v1/chat/completions' });
    expect(hosts).toEqual(paths.map(() => ({ host: true })));
    expect(own.body.error.message).toContain('model:');
    expect(await others.json()).toMatchObject({ error: { code: 'invalid_json' } });
    expect(await (await fetch(`${url}/v1/messages`)).json()).toEqual({ host: true });
    await close();
  });

  it('[X-12] a body of another type is refused in the envelope', async () => {
    const answer = await askJson(app.url, '{}', { headers: { 'content-type': 'text/plain' } });
    expect([answer.status, answer.body.error.type]).toEqual([415, 'invalid_request_error']);
    expect(answer.headers.get('request-id')).toMatch(/^req_/);
  });

  it('[X-12] a router that shuts down is overloaded', async () => {
    const closing = await startMessages();
    await closing.router.drain();
    const answer = await askJson(closing.url);
    expect([answer.status, answer.body.error.type]).toEqual([503, 'overloaded_error']);
    await closing.close();
  });
});
