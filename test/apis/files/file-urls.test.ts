/** Files that requests name by their URL: fetched where the host allows it, else refused. */
import express from 'express';
import {
  type CoreOptions,
  chatCompletionsUpstream,
  type FileFetcher,
  memoryStore,
  messagesRouter,
  responsesRouter,
} from '../../../src/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { egressGuard } from '../../../src/tools/egress/index.ts';
import { type Listening, listening } from '../../support/listening.ts';

type Json = Readonly<Record<string, unknown>>;

const PDF = Buffer.from('%PDF-1.4\n%none');
let fake: FakeUpstream;
let files: Listening;
const asked: string[] = [];
beforeAll(async () => {
  fake = await startFakeUpstream();
  files = await listening((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/a.txt') return void response.setHeader('content-type', 'text/plain').end('Owls are birds.');
    if (request.url === '/a.pdf') return void response.setHeader('content-type', 'application/pdf').end(PDF);
    if (request.url === '/large') return void response.end(Buffer.alloc(5000));
    // It stays open for ever.
    if (request.url === '/events')
      return void response.writeHead(200, { 'content-type': 'Text/Event-Stream-2; charset=utf-8' }).write(': hi\n\n');
    if (request.url === '/away') return void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    response.writeHead(404).end('The secret page of a stranger.');
  });
});
afterAll(async () => {
  await files.close();
  await fake.close();
});

/** The status and the answer, and what the model server has received. */
async function answerTo(body: Json, options: Partial<CoreOptions> = {}, path = '/v1/responses', isOpenRouter = false) {
  const upstream = chatCompletionsUpstream({
    baseURL: fake.baseURL,
    retries: 0,
    ...(isOpenRouter ? { provider: 'openrouter' } : {}),
  });
  const all = { upstream, store: memoryStore(), ...options };
  const api = await listening(express().use('/v1', responsesRouter(all)).use('/claude/v1', messagesRouter(all)));
  const before = fake.requests.length;
  try {
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
    const answer = await fetch(`${api.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const sent = JSON.stringify(fake.requests.slice(before).map((request) => request.body));
    return { status: answer.status, text: await answer.text(), sent };
  } finally {
    await api.close();
    await upstream.close();
  }
}

const asks = (...parts: readonly Json[]) => ({ model: 'm', input: [{ role: 'user', content: parts }] });
const at = (url: string) => ({ type: 'input_file', file_url: url });
const here = () =>
  egressGuard({ allow: [{ cidr: '127.0.0.1/32' }], schemes: ['http'], ports: [Number(new URL(files.url).port)] });
const document = (url: string) => ({
  model: 'm',
  max_tokens: 100,
  messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url } }] }],
});

it.each([
  ['a URL', () => asks(at(`${files.url}/a.pdf`)), '/v1/responses'],
  ['a URL as content', () => asks({ type: 'input_file', file_data: `${files.url}/a.pdf` }), '/v1/responses'],
  ['a stream', () => ({ ...asks(at(`${files.url}/a.pdf`)), stream: true }), '/v1/responses'],
  ['a document of the Messages API', () => document(`${files.url}/a.pdf`), '/claude/v1/messages'],
])('[V-32] refuses %s where nobody fetches it, and sends the model server nothing', async (_, body, path) => {
  asked.length = 0;
  const { status, text, sent } = await answerTo(body(), {}, path);
  expect([status, sent, asked]).toEqual([400, '[]', []]);
  expect(text).toContain('does not fetch files by their URL');
});

it('[V-32] hands the URL to a server that fetches it itself', async () => {
  const { status, sent } = await answerTo(asks(at(`${files.url}/a.pdf`)), {}, '/v1/responses', true);
  expect(status).toBe(200);
  expect(sent).toContain(`"file_data":"${files.url}/a.pdf"`);
});

it.each([
  ['the Responses API', () => asks(at(`${files.url}/a.txt`), at(`${files.url}/a.pdf`)), '/v1/responses'],
  [
    'the Messages API',
    () => {
      const parts = ['a.txt', 'a.pdf'].map((name) => ({
        ...{ type: 'document', title: name },
        source: { type: 'url', url: `${files.url}/${name}` },
      }));
      return { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: parts }] };
    },
    '/claude/v1/messages',
  ],
])('[V-32] fetches files for %s where the host allows it', async (_, body, path) => {
  const { status, sent } = await answerTo(body(), { fileFetcher: here() }, path);
  expect(status).toBe(200);
  expect(sent).toContain('Owls are birds.');
  expect(sent).toContain(`data:application/pdf;base64,${PDF.toString('base64')}`);
  expect(sent).not.toContain(files.url);
});

it('[G-07] tells what fetches whose request it is', async () => {
  const tenants: unknown[] = [];
  const fileFetcher: FileFetcher = {
    fetch(url, init) {
      tenants.push(init?.tenant);
      return fetch(url, { signal: init?.signal ?? null });
    },
  };
  const { status } = await answerTo(asks(at(`${files.url}/a.txt`)), { fileFetcher });
  expect([status, tenants]).toEqual([200, ['anonymous']]);
});

it('[V-32] fetches nothing from a host that is not allowed, and says no more than that', async () => {
  asked.length = 0;
  const { status, text, sent } = await answerTo(asks(at(`${files.url}/a.txt`)), { fileFetcher: egressGuard() });
  expect([status, sent, asked]).toEqual([400, '[]', []]);
  expect(JSON.parse(text).error).toEqual({
    code: 'invalid_file',
    message: 'The file at this URL cannot be fetched: this server may not reach it, or it does not answer.',
    param: 'input[0].content[0].file_url',
    type: 'invalid_request_error',
  });
});

it.each(['/none', '/away', '/events', 'no URL'])('[V-32] refuses %s', async (path) => {
  const url = path.startsWith('/') ? `${files.url}${path}` : path;
  const { status, text, sent } = await answerTo(asks(at(url)), { fileFetcher: here() });
  expect([status, sent]).toEqual([400, '[]']);
  expect(text).toContain('invalid_file');
  expect(text).not.toContain('stranger');
});

it('[V-32] bounds the bytes and the addresses of one request', async () => {
  const limits = { request: { fileBytes: 9000 } };
  const twice = asks(at(`${files.url}/large`), at(`${files.url}/large`));
  expect(await answerTo(twice, { fileFetcher: here(), limits })).toMatchObject({ status: 413, sent: '[]' });
  const many = asks(...Array.from({ length: 33 }, (_, index) => at(`${files.url}/a.txt?${index}`)));
  const { status } = await answerTo(many, { fileFetcher: { fetch: async () => new Response('a') } });
  expect(status).toBe(413);
});

it('[V-32] refuses a fetcher that is none', () => {
  expect(() => responsesRouter({ fileFetcher: fetch as never })).toThrow(/fileFetcher must be/);
});
