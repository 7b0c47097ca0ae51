/** Errors of model servers in every form that one of them has, as clients of the three APIs receive them. */
import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  messagesRouter,
  responsesRouter,
  type Upstream,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { listening } from '../support/listening.ts';

const KEY = 'sk-test-1234567890abcdef';
const MESSAGES = [{ role: 'user', content: 'Hi.' }];

let fake: FakeUpstream;
let close: () => Promise<unknown>;
let url: string;

async function start(upstreamFor: (baseURL: string) => Upstream): Promise<void> {
  fake = await startFakeUpstream();
  const upstream = upstreamFor(fake.baseURL);
  const routers = [responsesRouter, messagesRouter, ...(upstream.chat ? [chatCompletionsRouter] : [])];
  const app = express().use('/v1', ...routers.map((router) => router({ upstream })));
  const server = await listening(app);
  url = `${server.url}/v1`;
  close = () => Promise.all([server.close(), fake.close(), upstream.close?.()]);
}

const chatServer = (baseURL: string) => chatCompletionsUpstream({ baseURL, apiKey: KEY, retries: 0 });

afterEach(() => close());

async function ask(path: string, body: JsonObject): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${url}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', ...body }),
  });
  return { status: answer.status, text: await answer.text() };
}

const askResponses = (stream = false) => ask('responses', { input: 'Hi.', stream });
const askChat = (stream = false) => ask('chat/completions', { messages: MESSAGES, stream });
const askMessages = (stream = false) => ask('messages', { messages: MESSAGES, max_tokens: 9, stream });

/** An event stream of these events: a text is written as it is, an object as data. */
const events = (...list: readonly (object | string)[]): FakeReply => ({
  headers: { 'content-type': 'text/event-stream' },
  body: list.map((each) => (typeof each === 'string' ? each : `data: ${JSON.stringify(each)}\n\n`)).join(''),
});

describe('an error that is the first event of a stream', () => {
  const cases: readonly (readonly [error: JsonObject, status: number, type: string])[] = [
    [{ type: 'tokens', code: 'rate_limit_exceeded' }, 429, 'rate_limit_error'],
    [{ type: 'requests', code: null }, 429, 'rate_limit_error'],
    [{ type: 'server_error', code: 'rate_limit_exceeded' }, 429, 'rate_limit_error'],
    [{ type: 'insufficient_quota', code: 'insufficient_quota' }, 429, 'rate_limit_error'],
    [{ code: 'too_many_requests' }, 429, 'rate_limit_error'],
    [{ type: 'invalid_request_error', code: 'invalid_api_key' }, 401, 'authentication_error'],
    [{ type: null, code: 'content_filter' }, 400, 'invalid_request_error'],
    [{ type: 'invalid_request_error', code: 'model_not_found' }, 404, 'not_found_error'],
    [{ type: 'server_error', code: 'server_is_overloaded' }, 503, 'overloaded_error'],
    [{ type: 'invalid_request_error', code: 'some_other' }, 400, 'invalid_request_error'],
    [{ type: 'server_error', code: 'some_other' }, 502, 'api_error'],
    [{ type: 'toString', code: 'constructor' }, 502, 'api_error'],
  ];

  it.each(cases)('[P-09] [B-06] has the status that its code or its type says: %j', async (fields, status, type) => {
    await start(chatServer);
    const error = { message: 'No.', ...fields };
    fake.reply(events({ error }));
    const answers = [await askResponses(), await askResponses(true), await askChat(true)];
    const code = fields.code ?? 'rate_limit_exceeded';
    const envelope = { message: 'No.', code };
    const one = [status, { error: expect.objectContaining(envelope) }];
    expect(answers.map((answer) => [answer.status, JSON.parse(answer.text)])).toEqual([one, one, one]);
    const messages = await askMessages(true);
    expect([messages.status, JSON.parse(messages.text).error.type]).toEqual([status, type]);
  });

  const responses = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };

  it.each<[form: string, eventsFor: (error: JsonObject) => readonly object[]]>([
    ['an error event', (error) => [{ type: 'error', error }]],
    ['a flat error event', ({ code, message }) => [{ type: 'error', code, message, param: null }]],
    [
      'the failed response',
      (error) => [{ type: 'response.failed', response: { ...responses, status: 'failed', error } }],
    ],
  ])('[P-09] [B-06] has that status behind a Responses server, too: %s', async (_, eventsFor) => {
    await start((baseURL) => responsesUpstream({ baseURL, apiKey: KEY, retries: 0 }));
    const seen: number[] = [];
    for (const code of ['insufficient_quota', 'rate_limit_exceeded', 'invalid_api_key', 'invalid_prompt', 'odd']) {
      fake.reply(events({ type: 'response.created', response: responses }, ...eventsFor({ code, message: 'No.' })));
      const answers = [await askResponses(), await askResponses(true), await askMessages()];
      expect(new Set(answers.map(({ status }) => status)).size).toBe(1);
      seen.push(answers[0]?.status ?? 0);
    }
    expect(seen).toEqual([429, 429, 401, 400, 502]);
  });
});

describe('an error in the middle of a Chat Completions stream', () => {
  const ROLE = chatChunk({ role: 'assistant' });
  const HALF = chatChunk({ content: 'The answer is n' });
  const DONE = 'data: [DONE]\n\n';
  const died = { message: 'Engine died.', type: 'server_error', code: 500 };
  const forms: readonly (readonly [form: string, error: object | string, code: string])[] = [
    ['FastChat', { text: 'Engine died.', error_code: 50001 }, 'upstream_error'],
    ['Databricks', { error_code: 'INTERNAL_ERROR', message: 'Engine died.' }, 'INTERNAL_ERROR'],
    ['Baidu', { error_code: 336100, error_msg: 'Engine died.' }, 'upstream_error'],
    ['FastAPI', { detail: 'Engine died.' }, 'upstream_error'],
    ['FastAPI, a list', { detail: [{ loc: ['body'], msg: 'Engine died.' }] }, 'upstream_error'],
    ['an error that nothing wraps', died, 'upstream_error'],
    ['one with a code alone', { message: 'Engine died.', code: 'died' }, 'died'],
    [
      'Groq',
      { choices: [{ index: 0, delta: {}, finish_reason: null }], x_groq: { id: 'r', error: 'Engine died.' } },
      'upstream_error',
    ],
    ['Groq, without a choice', { choices: [], x_groq: { error: 'Engine died.' } }, 'upstream_error'],
    ['a line of llama.cpp', `error: ${JSON.stringify(died)}\n\n`, 'upstream_error'],
    [
      'a line without a space, at the end of the lines of a chunk',
      `: note\nerror:${JSON.stringify(died)}\r\n\r\n`,
      'upstream_error',
    ],
    ['an event with that name', `event: error\ndata: {"message":"Engine died."}\n\n`, 'upstream_error'],
    [
      'an event with that name, as others write it',
      `event: error\ndata: ${JSON.stringify({ error: died })}\n\n`,
      'upstream_error',
    ],
    ['an event with that name, of plain text', 'event: error\ndata: Engine died.\n\n', 'upstream_error'],
    [
      'an event with that name behind a chunk',
      `${HALF.trimEnd()}\nevent: error\ndata: {"message":"Engine died."}\n\n`,
      'upstream_error',
    ],
  ];

  it.each(forms)(
    '[V-04] [V-11] [P-09] fails the turn on every API, and its words are kept: %s',
    async (_, error, code) => {
      await start(chatServer);
      fake.reply({ ...events(ROLE, HALF, error, DONE), split: 'byte' }, events(ROLE, HALF, error, DONE));
      const [response, streamed] = [await askResponses(), await askResponses(true)];
      const { status, output, error: failure } = JSON.parse(response.text);
      expect([status, output[0].content[0].text.startsWith('The answer is n'), failure]).toEqual([
        'failed',
        true,
        expect.objectContaining({ message: 'Engine died.', reason: code }),
      ]);
      expect(streamed.text).toMatch(/"type":"response\.failed".*Engine died\./);
      const chat = await askChat(true);
      const last = chat.text.split('\n\n').filter((frame) => frame.includes('"error":{'));
      expect(last.map((frame) => JSON.parse(frame.slice('data: '.length)).error)).toEqual([
        expect.objectContaining({ message: 'Engine died.', code }),
      ]);
      expect((await askMessages(true)).text).toMatch(/event: error\ndata: .*"message":"Engine died\."/);
    },
  );

  const alone = forms.filter(([, error]) => typeof error !== 'string' || !error.startsWith('data:'));

  it.each(alone)('[V-11] [P-09] [B-06] is an HTTP error where no words came before it: %s', async (_, error, code) => {
    await start(chatServer);
    fake.reply(events(ROLE, error, DONE));
    const answers = [await askResponses(), await askResponses(true)];
    const one = { error: expect.objectContaining({ message: 'Engine died.', code }) };
    expect(answers.map(({ text }) => JSON.parse(text))).toEqual([one, one]);
    expect(answers.every(({ status }) => status >= 500)).toBe(true);
    expect(JSON.parse((await askMessages()).text).error.message).toBe('Engine died.');
  });

  it.each<[string, object | string]>([
    ['no error', { error: null, error_code: 0, x_groq: { id: 'r' }, choices: [] }],
    ['a message that is none', { message: { role: 'assistant', content: 'Hi.' }, done: false }],
    ['a note', { message: 'Loading.' }],
    ['an event of a type', { type: 'progress', message: 'Loading.', code: 7 }],
    ['an object with a name', { object: 'progress', message: 'Loading.', code: 7 }],
    ['a report of success', { message: 'ok', code: 200, data: {} }],
    ['a report of success in words', { message: 'ok', code: 'Success' }],
    ['a code beside no message', { message: '', code: 'died' }],
    ['a detail of the answer', { id: 'c', model: 'm', detail: { cached: true } }],
    ['an empty detail', { detail: [] }],
    ['a comment', ': error: {"message":"no"}\n\n'],
    ['a field without an object', 'error: no\n\n'],
    ['a chunk with another name', `event: chunk\n${chatChunk({ content: '' })}`],
    ['a chunk with that name', `event: error\n${chatChunk({ content: '' })}`],
  ])('[V-11] is none: %s', async (_, piece) => {
    await start(chatServer);
    const text = 'a\nerror: {"b":1}\u2028error: {"c":2}';
    fake.reply(events(ROLE, chatChunk({ content: text }), piece, chatChunk({}, { finish_reason: 'stop' }), DONE));
    const { status, output } = JSON.parse((await askResponses()).text);
    expect([status, output[0].content[0].text]).toEqual(['completed', text]);
  });
});

describe('a refusal', () => {
  const MISTRAL = { type: 'less_than_equal', loc: ['body', 'temperature'], msg: 'Input should be at most 1.5' };
  const refusal = (status: number, body: object | string): FakeReply => ({
    status,
    headers: { 'content-type': typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

  it.each<[form: string, status: number, body: object | string, message: string, code: string]>([
    [
      'Mistral',
      422,
      { object: 'error', message: { detail: [MISTRAL] }, type: 'invalid_request_error', param: null, code: null },
      MISTRAL.msg,
      'invalid_request',
    ],
    [
      'xAI and DeepSeek',
      422,
      'Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`\n',
      'Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`',
      'invalid_request',
    ],
    ['plain text of a key', 401, `The key ${KEY} has expired`, 'The key *** has expired', 'invalid_api_key'],
    ['FastAPI, an object', 400, { detail: { message: 'No images.', code: 'no_images' } }, 'No images.', 'no_images'],
    ['FastAPI, an error', 400, { detail: { error: { message: 'No images.' } } }, 'No images.', 'invalid_request'],
    ['FastAPI, an error that is a text', 400, { detail: { error: 'No images.' } }, 'No images.', 'invalid_request'],
    ['FastAPI, texts', 400, { detail: ['No images.'] }, 'No images.', 'invalid_request'],
    ['an error in an error', 400, { error: { error: { message: 'No images.' } } }, 'No images.', 'invalid_request'],
    [
      'an error of which the message is an object',
      400,
      { error: { message: { text: 'No images.', message: 'No.' } } },
      'No.',
      'invalid_request',
    ],
    ['Baidu', 400, { error_code: 336003, error_msg: 'No images.' }, 'No images.', 'invalid_request'],
    ['a word of its own for the message', 400, { code: 1214, msg: 'No images.' }, 'No images.', 'invalid_request'],
    [
      'a full context, as FastAPI writes it',
      400,
      { detail: { error: { message: 'Prompt length 5000 is greater than max_seq_len 4096' } } },
      'Prompt length 5000 is greater than max_seq_len 4096',
      'context_length_exceeded',
    ],
    [
      'a full context, in plain text',
      413,
      "This model's maximum context length is 4096 tokens.",
      "This model's maximum context length is 4096 tokens.",
      'context_length_exceeded',
    ],
  ])('[P-09] [B-06] shows its message: %s', async (_, status, body, message, code) => {
    await start(chatServer);
    fake.reply(refusal(status, body));
    const answers = [await askResponses(), await askResponses(true), await askChat(), await askChat(true)];
    const clientStatus = code === 'context_length_exceeded' ? 400 : status;
    const one = [clientStatus, { error: expect.objectContaining({ message, code }) }];
    expect(answers.map((answer) => [answer.status, JSON.parse(answer.text)])).toEqual([one, one, one, one]);
    expect(JSON.parse((await askMessages()).text).error.message).toContain(message);
  });

  it.each<[form: string, status: number, body: object | string]>([
    ['the text of a proxy', 502, 'upstream connect error or disconnect/reset before headers'],
    ['a page', 403, '<html><body>Sign in.</body></html>'],
    ['XML', 403, '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    ['JSON that breaks off', 400, '{"error":{"message":"No ima'],
    ['a page within plain text', 400, 'Error: <html><body>Sign in.</body></html>'],
    ['nothing', 400, ' \n'],
    [
      'an object without a message',
      400,
      { error: { message: { message: { message: { message: { message: 'x' } } } } } },
    ],
  ])('[P-09] [B-06] is reported by its status alone: %s', async (_, status, body) => {
    await start(chatServer);
    fake.reply(refusal(status, body));
    const { error } = JSON.parse((await askResponses()).text);
    expect(error.message).toBe(`The model server answered with status ${status}.`);
  });

  it('[P-09] is read in one pass, however it is nested', async () => {
    await start(chatServer);
    const deep = `${'{"detail":'.repeat(100_000)}"x"${'}'.repeat(100_000)}`;
    const wide = JSON.stringify({
      detail: Array.from({ length: 100_000 }, () => ({ detail: ['No.', { msg: 'No.' }] })),
    });
    for (const body of [deep, wide, 'No. '.repeat(1_000_000)]) {
      fake.reply({ status: 400, body });
      const { status, text } = await askResponses();
      expect([status, text.length < 10_000]).toEqual([400, true]);
    }
  });
});

describe('a full context', () => {
  const cloudflare =
    'AiError: The estimated number of input and maximum output tokens (155740) exceeded this model context window limit (128000).';
  it.each<[server: string, status: number, body: JsonObject]>([
    ['Cloudflare', 413, { errors: [{ message: cloudflare, code: 5021 }], success: false, result: {}, messages: [] }],
    ['Cloudflare, under its OpenAI path', 400, { error: { message: `5021: ${cloudflare}` } }],
    [
      'GitHub Models',
      413,
      {
        error: { code: 'tokens_limit_reached', message: 'Request body too large for x model. Max size: 8000 tokens.' },
      },
    ],
  ])('[V-28] of %s is reported on every API, and met by truncation', async (_, status, body) => {
    await start(chatServer);
    fake.reply({ status, body: JSON.stringify(body) });
    const answers = [await askResponses(), await askResponses(true), await askChat(true)];
    expect(answers.map((answer) => [answer.status, JSON.parse(answer.text).error.code])).toEqual(
      Array(3).fill([400, 'context_length_exceeded']),
    );
    expect(JSON.parse((await askMessages()).text).error.message).toMatch(/^prompt is too long/);
    const before = fake.requests.length;
    const input = ['user', 'assistant', 'user'].map((role) => ({ role, content: role.repeat(300) }));
    await ask('responses', { input, truncation: 'auto' });
    expect(fake.requests.length - before).toBe(2);
  });
});

describe('events that their server labels as JSON', () => {
  const label = { 'content-type': 'application/json; charset=utf-8' };
  const WORDS = chatChunk({ role: 'assistant', content: 'Hello' });
  const END = `${chatChunk({}, { finish_reason: 'stop' })}data: [DONE]\n\n`;

  it.each<[how: string, reply: FakeReply]>([
    ['whole', { headers: label, body: WORDS + END }],
    ['byte by byte', { headers: label, body: WORDS + END, split: 'byte' }],
    ['behind a comment', { headers: label, body: `: ping\n\n${WORDS}${END}` }],
    ['behind a name and a byte order mark', { headers: label, body: `\ufeffevent: chunk\n${WORDS}${END}` }],
    ['behind an empty line', { headers: label, body: `\n\n${WORDS}${END}` }],
  ])('[V-11] are the answer on every API: %s', async (_, reply) => {
    await start(chatServer);
    fake.reply(reply);
    const answers = [await askResponses(), await askResponses(true), await askChat(), await askChat(true)];
    answers.push(await askMessages(), await askMessages(true));
    expect(answers.map(({ status, text }) => [status, text.includes('Hello'), text.includes('"error":{')])).toEqual(
      Array(6).fill([200, true, false]),
    );
  });

  it('[V-11] reach the client as they arrive', async () => {
    await start(chatServer);
    fake.reply({ headers: label, body: WORDS, stallAfterBytes: WORDS.length });
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: MESSAGES, stream: true }),
    });
    const reader = answer.body?.getReader();
    let text = '';
    while (!text.includes('Hello')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
    await reader?.cancel();
    expect(text).toContain('Hello');
  });

  it.each<[what: string, reply: FakeReply, message: string]>([
    ['an error', { headers: label, body: 'data: {"error":{"message":"No slot.","code":503}}\n\n' }, 'No slot.'],
    [
      'text',
      { headers: label, body: 'denied' },
      'The model server answered with no events (application/json; charset=utf-8).',
    ],
    [
      'nothing',
      { headers: label, body: '' },
      "The model server's answer is none of Chat Completions: it has no 'choices'.",
    ],
  ])('[V-11] [B-06] %s is reported', async (_, reply, message) => {
    await start(chatServer);
    fake.reply(reply);
    expect(JSON.parse((await askResponses(true)).text).error.message).toBe(message);
  });

  it('[V-11] are none where the answer is JSON, in any pieces', async () => {
    await start(chatServer);
    const body = `\n ${JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }] })}`;
    fake.reply({ headers: label, body, split: 'byte' }, { headers: label, body });
    const answers = [await askResponses(), await askResponses(true)];
    expect(answers.map(({ text }) => [text.includes('Hello'), text.includes('"failed"')])).toEqual([
      [true, false],
      [true, false],
    ]);
  });
});
