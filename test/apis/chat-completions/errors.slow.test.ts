/** What goes wrong in a chat completion, on either side, and how it is reported to the client. */

import { functionTools, type RouterOptions, type ToolCallInfo } from '../../../src/index.ts';
import type { Limits } from '../../../src/ports/limits.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatChunk, chatStream, type FakeReply, textStream } from '../../../src/testing/index.ts';
import {
  ask,
  askChunks,
  askData,
  askJson,
  type ChatApp,
  openaiClient,
  QUESTION,
  requestedOf,
  startChatApp,
  UPSTREAM_KEY,
} from './chat-app.ts';
import { calling, says } from './script.ts';

const BROKEN_OFF = { message: 'The model server broke off its answer.', code: 'upstream_truncated' };
const WRITTEN = chatChunk({ role: 'assistant', content: 'Hello' });

let app: ChatApp;
let reported: string[];

afterEach(() => app.close());

async function start(options: RouterOptions = {}, limits: Partial<Limits> = {}): Promise<void> {
  reported = [];
  const hooks = {
    onError: ({ code }: { code: string }) => void reported.push(`error ${code}`),
    onResponse: ({ status }: { status: string }) => void reported.push(status),
    onToolCall: ({ name, error }: ToolCallInfo) => void reported.push(`${name} ${error ?? 'ok'}`),
  };
  app = await startChatApp({ tools: functionTools({ ours: { execute: () => 'ok' } }), hooks, ...options }, limits);
}

/** The envelope of an error. */
function envelope(error: JsonObject): JsonObject {
  return { error: { type: 'server_error', param: null, ...error } };
}

describe('before the first byte', () => {
  beforeEach(() => start());

  it.each<readonly [status: number, body: string, error: JsonObject]>([
    [
      400,
      '{"error":{"message":"No such parameter.","type":"invalid_request_error","param":"top_k","code":"bad"}}',
      { message: 'No such parameter.', type: 'invalid_request_error', param: 'top_k', code: 'bad' },
    ],
    [
      401,
      `{"error":{"message":"Incorrect API key provided: ${UPSTREAM_KEY}.","code":"invalid_api_key"}}`,
      { message: 'Incorrect API key provided: ***.', type: 'invalid_request_error', code: 'invalid_api_key' },
    ],
    [429, '{"message":"Slow down."}', { message: 'Slow down.', type: 'rate_limit_error', code: 'rate_limit_exceeded' }],
    [
      500,
      '<html><body>nginx</body></html>',
      { message: 'The model server answered with status 500.', code: 'upstream_error' },
    ],
  ])('[P-09] [S-19] a refusal with %i is answered with that status, in the envelope', async (status, body, error) => {
    const refusal: FakeReply = { status, body };
    app.fake.reply(refusal);
    const answers = [await askJson(app.url), await askJson(app.url, { stream: true })];
    const expected = { status, body: envelope(error) };
    expect(answers.map((answer) => ({ status: answer.status, body: answer.body }))).toEqual([expected, expected]);
    expect(reported).toEqual([`error ${error.code}`, `error ${error.code}`]);
  });

  it('[P-09] an error in a 200 is answered with the status that it names, in both forms', async () => {
    app.fake.reply({ body: '{"error":{"message":"Overloaded.","code":503}}' });
    const answers = [await askJson(app.url), await askJson(app.url, { stream: true })];
    const expected = { status: 503, body: envelope({ message: 'Overloaded.', code: 'upstream_unavailable' }) };
    expect(answers.map(({ status, body }) => ({ status, body }))).toEqual([expected, expected]);
  });

  it('[P-08] [P-09] an error in the very first chunk is answered with its status, too', async () => {
    app.fake.reply({ body: 'data: {"error":{"message":"Overloaded.","code":503}}\n\n' });
    const { status, body } = await askJson(app.url, { stream: true });
    expect({ status, body }).toEqual({
      status: 503,
      body: envelope({ message: 'Overloaded.', code: 'upstream_unavailable' }),
    });
  });

  it.each<readonly [what: string, reply: FakeReply]>([
    ['no JSON', { body: '{"choices":', headers: { 'content-type': 'application/json' } }],
    ['a list', { body: '[]', headers: { 'content-type': 'application/json' } }],
    ['a chunk that is no JSON', { body: 'data: {"choices":\n\n' }],
    ['a stream without an event', { body: ': nothing\n\n' }],
    ['a web page', { body: '<html></html>' }],
  ])('[P-08] [P-14] what is %s is a 502', async (_what, reply) => {
    app.fake.reply(reply);
    const answers = [await askJson(app.url), await askJson(app.url, { stream: true })];
    expect(answers.map(({ status, body }) => [status, (body.error as JsonObject).code])).toEqual([
      [502, 'upstream_error'],
      [502, 'upstream_error'],
    ]);
  });

  it('[P-09] a model server that cannot be reached is a 502', async () => {
    app.fake.reply({ reset: 'before-headers' });
    const { status, body } = await askJson(app.url, { stream: true });
    expect({ status, body }).toEqual({
      status: 502,
      body: envelope({ message: 'The model server could not be reached.', code: 'upstream_unavailable' }),
    });
  });
});

describe('in the middle of a stream', () => {
  beforeEach(() => start());

  it.each<readonly [what: string, reply: FakeReply, error: JsonObject]>([
    ['ends too early', { body: WRITTEN }, BROKEN_OFF],
    [
      'loses its connection',
      { body: WRITTEN, cutAfterBytes: WRITTEN.length },
      { message: 'The connection to the model server broke.', code: 'upstream_truncated' },
    ],
    [
      'holds an error',
      { body: `${WRITTEN}data: {"error":{"message":"Out of memory.","code":"oom"}}\n\n` },
      { message: 'Out of memory.', code: 'oom' },
    ],
    [
      'holds what is no JSON',
      { body: `${WRITTEN}data: {"choices\n\ndata: [DONE]\n\n` },
      { message: 'The model server sent something that is not a JSON object.', code: 'upstream_error' },
    ],
    [
      'ends with finish_reason error',
      { body: WRITTEN + chatChunk({}, { finish_reason: 'error' }) },
      { message: 'The model server failed while answering.', code: 'upstream_error' },
    ],
  ])('[P-08] [S-19] what came before is sent where it %s, then the error, then [DONE]', async (_what, reply, error) => {
    app.fake.reply(reply);
    const data = await askData(app.url);
    const last = JSON.stringify({ error: { message: '', type: 'server_error', param: null, code: '', ...error } });
    const passed = data.filter((each) => each.includes('choices'));
    expect({ first: `data: ${passed[0]}\n\n`, end: data.slice(passed.length) }).toEqual({
      first: WRITTEN,
      end: [last, '[DONE]'],
    });
    expect(reported).toEqual([`error ${error.code}`, 'failed']);
  });

  it('[P-08] [S-19] openai-node throws the error, after the chunks before it', async () => {
    app.fake.reply({ body: `${WRITTEN}data: {"error":{"message":"Out of memory.","code":"oom"}}\n\n` });
    const written: unknown[] = [];
    const stream = await openaiClient(app.url).chat.completions.create({ ...QUESTION, stream: true });
    const read = async () => {
      for await (const { choices } of stream) written.push(choices[0]?.delta.content);
    };
    await expect(read()).rejects.toThrow('Out of memory.');
    expect(written).toEqual(['Hello']);
  });

  it('[P-09] [A-27] the same is a status in JSON, since nothing has been sent yet', async () => {
    app.fake.reply({ body: WRITTEN });
    const { status, body } = await askJson(app.url);
    expect({ status, body, reported }).toEqual({
      status: 502,
      body: envelope(BROKEN_OFF),
      reported: ['error upstream_truncated'],
    });
  });

  it('[P-04] [A-28] a later round that is refused is reported in the stream, which never ends without an error', async () => {
    app.fake.reply(says({ text: 'Hello', calls: [calling('ours')] }), { status: 400, body: '{"message":"Too long."}' });
    const data = await askData(app.url);
    const error = { message: 'Too long.', type: 'invalid_request_error', param: null, code: 'invalid_request' };
    expect(data.slice(-2)).toEqual([JSON.stringify({ error }), '[DONE]']);
    expect(reported).toEqual(['ours ok', 'error invalid_request', 'failed']);
  });

  it('[P-04] [A-27] a later round that is refused is a status in JSON', async () => {
    app.fake.reply(says({ calls: [calling('ours')] }), { status: 400, body: '{"message":"Too long."}' });
    expect((await askJson(app.url)).status).toBe(400);
  });
});

describe('what a model server may do otherwise', () => {
  beforeEach(() => start());

  it.each<readonly [what: string, reply: FakeReply, data: readonly string[]]>([
    ['comments', { body: ': hello\n\ndata: {"id":"a"}\n\n: bye\n\ndata: [DONE]\n\n' }, ['{"id":"a"}']],
    [
      'CRLF',
      { body: 'data: {"id":"a"}\r\n\r\ndata: {"id":"b"}\r\n\r\ndata: [DONE]\r\n\r\n' },
      ['{"id":"a"}', '{"id":"b"}'],
    ],
    ['names of events', { body: 'event: chunk\nid: 7\ndata: {"id":"a"}\n\ndata: [DONE]\n\n' }, ['{"id":"a"}']],
    [
      'blanks',
      { body: 'data:{"id":"a"}\n\ndata:  { "id" : "b" } \n\ndata: [DONE] \n\n' },
      ['{"id":"a"}', ' { "id" : "b" } '],
    ],
    ['data of several lines', { body: 'data: {\ndata:  "id": "a"\ndata: }\n\ndata: [DONE]\n\n' }, ['{\n "id": "a"\n}']],
    ['empty data', { body: 'data:\n\ndata: {"id":"a"}\n\ndata: [DONE]\n\n' }, ['{"id":"a"}']],
    ['more after [DONE]', { body: 'data: {"id":"a"}\n\ndata: [DONE]\n\ndata: {"id":"b"}\n\n' }, ['{"id":"a"}']],
    [
      'no [DONE]',
      { body: 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n' },
      ['{"choices":[{"delta":{},"finish_reason":"stop"}]}'],
    ],
    [
      'characters cut in two',
      { body: 'data: {"id":"né 🦜 ✓"}\n\ndata: [DONE]\n\n', split: 'byte' },
      ['{"id":"né 🦜 ✓"}'],
    ],
  ])('[P-08] [S-19] %s do no harm', async (_what, reply, data) => {
    app.fake.reply({ ...reply, headers: { 'content-type': 'text/event-stream' } } as FakeReply);
    expect(await askData(app.url)).toEqual([...data, '[DONE]']);
  });

  it('[P-08] a chunk of several megabytes passes where the host allows it', async () => {
    await app.close();
    await start({}, { eventBytes: 8 * 2 ** 20 });
    const chunk = chatChunk({ content: 'x'.repeat(4 * 2 ** 20) });
    app.fake.reply({ body: `${chunk}data: [DONE]\n\n` });
    const [data = '', done] = await askData(app.url);
    expect({ same: `data: ${data}\n\n` === chunk, done }).toEqual({ same: true, done: '[DONE]' });
  });
});

describe('a limit', () => {
  const limited = (limits: Partial<Limits>) => start({}, limits);

  it.each<readonly [what: string, limits: Partial<Limits>, deltas: readonly JsonObject[], error: JsonObject]>([
    [
      'everything the model writes',
      { outputBytes: 9 },
      [{ content: 'éé' }, { reasoning_content: 'éé' }, { content: 'éé' }],
      { message: "The model wrote more than this server's limit for a response.", code: 'output_too_large' },
    ],
    [
      'the arguments of a call',
      { argumentBytes: 9 },
      [{ tool_calls: [{ index: 0, id: 'a', function: { name: 'theirs', arguments: '{"a":"éé"' } }] }],
      {
        message: "The model wrote more than this server's limit for the arguments of a tool call.",
        code: 'output_too_large',
      },
    ],
    [
      'one event',
      { eventBytes: 400 },
      [{ content: 'x' }, { content: 'x'.repeat(500) }],
      { message: "The model server sent an event over this server's limit.", code: 'upstream_error' },
    ],
  ])('[P-14] on %s ends the answer with an error', async (_what, limits, deltas, error) => {
    await limited(limits);
    app.fake.reply({ body: chatStream({ role: 'assistant', content: '' }, ...deltas) });
    const data = await askData(app.url);
    expect(data.slice(-2)).toEqual([JSON.stringify({ error: { ...ORDER, ...error } }), '[DONE]']);
    expect((await askJson(app.url)).status).toBe(502);
  });

  it('[P-14] on everything the model writes counts all rounds together', async () => {
    await limited({ outputBytes: 20 });
    app.fake.reply(says({ text: 'Twelve bytes', calls: [calling('ours')] }), says({ text: 'and ten more' }));
    expect((await askJson(app.url)).body).toEqual(
      envelope({ message: "The model wrote more than this server's limit for a response.", code: 'output_too_large' }),
    );
  });

  it('[P-08] on silence and on the whole turn ends the answer, too', async () => {
    const silent: FakeReply = { body: WRITTEN, stallAfterBytes: WRITTEN.length };
    await limited({ idleTimeoutMs: 20 });
    app.fake.reply(silent);
    const idle = await askData(app.url);
    await app.close();
    await limited({ durationMs: 20 });
    app.fake.reply({ hang: true });
    const { status, body } = await askJson(app.url);
    expect([idle.slice(-2), status, (body.error as JsonObject).code]).toEqual([
      [
        JSON.stringify({
          error: { ...ORDER, message: 'The model server stopped sending data.', code: 'upstream_timeout' },
        }),
        '[DONE]',
      ],
      504,
      'duration_exceeded',
    ]);
  });

  /** The order of the envelope's keys. */
  const ORDER = { message: '', type: 'server_error', param: null, code: '' };
});

describe('a request', () => {
  beforeEach(() => start());

  it.each<readonly [body: string, error: readonly [code: string, param: string | null]]>([
    ['{"model":', ['invalid_json', null]],
    ['[]', ['invalid_json', null]],
    ['"hello"', ['invalid_json', null]],
    ['null', ['invalid_json', null]],
    ['{}', ['missing_required_parameter', 'model']],
    ['{"model":""}', ['invalid_value', 'model']],
    ['{"model":1}', ['invalid_type', 'model']],
    ['{"model":"m"}', ['missing_required_parameter', 'messages']],
    ['{"model":"m","messages":"hello"}', ['invalid_type', 'messages']],
    ['{"model":"m","messages":[]}', ['invalid_value', 'messages']],
    ['{"model":"m","messages":["hello"]}', ['invalid_type', 'messages[0]']],
    ['{"model":"m","messages":[{"content":"hello"}]}', ['missing_required_parameter', 'messages[0].role']],
    ['{"model":"m","messages":[{"role":"user"}],"stream":"yes"}', ['invalid_type', 'stream']],
    ['{"model":"m","messages":[{"role":"user"}],"n":0}', ['integer_below_min_value', 'n']],
    ['{"model":"m","messages":[{"role":"user"}],"n":1.5}', ['invalid_type', 'n']],
    ['{"model":"m","messages":[{"role":"user"}],"tools":{}}', ['invalid_type', 'tools']],
    ['{"model":"m","messages":[{"role":"user"}],"tools":[{"type":1}]}', ['invalid_type', 'tools[0].type']],
    [
      '{"model":"m","messages":[{"role":"user"}],"functions":[{}]}',
      ['missing_required_parameter', 'functions[0].name'],
    ],
    ['{"model":"m","messages":[{"role":"user"}],"stream_options":[]}', ['invalid_type', 'stream_options']],
  ])('[P-11] [P-14] that is %s is a 400 in the envelope', async (text, [code, param]) => {
    const { status, body } = await askJson(app.url, text);
    const error = { message: expect.stringMatching(/^[A-Z].*\.$/), type: 'invalid_request_error', param, code };
    expect({ status, body, requested: app.fake.requests.length }).toEqual({
      status: 400,
      body: { error },
      requested: 0,
    });
  });

  it('[P-14] nested a thousandfold is a 400', async () => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    const { status } = await askJson(app.url, `{"model":"m","messages":[{"role":"user","content":${deep}}]}`);
    expect(status).toBe(400);
  });

  it('[P-11] over the limit of bytes is a 413, of another type a 415, both in the envelope', async () => {
    await app.close();
    await start({ limits: { request: { bodyBytes: 100 } } });
    const large = await askJson(app.url, { user: 'x'.repeat(100) });
    const typed = await askJson(app.url, {}, { headers: { 'content-type': 'text/plain' } });
    expect([large, typed].map(({ status, body }) => [status, (body.error as JsonObject).code])).toEqual([
      [413, 'request_too_large'],
      [415, 'unsupported_media_type'],
    ]);
  });

  it('[P-11] of several megabytes reaches the model server whole', async () => {
    const content = 'x'.repeat(4 * 2 ** 20);
    await askJson(app.url, { messages: [{ role: 'user', content }] });
    expect(requestedOf(app).messages[0]?.content === content).toBe(true);
  });

  it('[P-14] keeps its headers to itself, but for those of the trace', async () => {
    const headers = {
      authorization: 'Bearer client',
      cookie: 'a=b',
      'x-secret': 's',
      'x-request-id': 'r1',
      traceparent: 't',
    };
    const answer = await askJson(app.url, {}, { headers });
    const {
      authorization,
      cookie,
      'x-secret': secret,
      'x-request-id': id,
      traceparent,
    } = app.fake.requests[0]?.headers ?? {};
    expect({ authorization, cookie, secret, id, traceparent, answered: answer.headers.get('x-request-id') }).toEqual({
      authorization: `Bearer ${UPSTREAM_KEY}`,
      cookie: undefined,
      secret: undefined,
      id: 'r1',
      traceparent: 't',
      answered: 'r1',
    });
  });

  it('[P-14] [T-05] cannot run what is not a tool, such as a name that every object has', async () => {
    app.fake.reply(says({ calls: [calling('toString'), calling('__proto__'), calling('ours')] }));
    const chunks = await askChunks(app.url);
    expect({ handedOut: JSON.stringify(chunks).match(/"name":"\w+"/g), reported }).toEqual({
      handedOut: ['"name":"toString"', '"name":"__proto__"'],
      reported: ['ours ok', 'completed'],
    });
  });
});

describe('the key and the address of the model server', () => {
  const secret = () => `{"error":{"message":"${UPSTREAM_KEY} is out of credit at ${app.fake.baseURL}."}}`;
  const shown = async (body: JsonObject = {}) => /sk-test|127\.0\.0\.1/.test(await (await ask(app.url, body)).text());
  beforeEach(() => start());

  it('[P-09] stay unknown to clients where a refusal holds them', async () => {
    app.fake.reply({ status: 402, body: secret() });
    expect(await shown()).toBe(false);
  });

  // Red on purpose: the upstream does not yet scrub the errors that an answer with a good status holds.
  it.each([
    ['an answer', false],
    ['a chunk', true],
  ])('[P-09] stay unknown to clients where the error in %s holds them', async (_what, stream) => {
    app.fake.reply({ body: stream ? `${WRITTEN}data: ${secret()}\n\n` : secret() });
    expect(await shown({ stream })).toBe(false);
  });
});

it('[S-19] GET /models is the list of the model server', async () => {
  await start();
  const { data } = await openaiClient(app.url).models.list();
  expect(data.map(({ id }) => id)).toEqual(['fake-model']);
});

it('[S-19] answers a model server that has nothing to say', async () => {
  await start();
  app.fake.reply({ body: textStream('') });
  expect((await askChunks(app.url)).at(-1)?.choices).toEqual([expect.objectContaining({ finish_reason: 'stop' })]);
});
