/** One key is one tenant, on every way in; a request with several different keys is refused until the host sets `scope`. */

import { randomUUID } from 'node:crypto';
import express from 'express';
import { openResponses } from '../../src/core.ts';
import { filesRouter, memoryFiles } from '../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  injectTools,
  memoryStore,
  messagesRouter,
  responsesRouter,
} from '../../src/index.ts';
import { tokenBudget } from '../../src/policies/budgets/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { listening } from '../support/listening.ts';
import { parsed } from './client.ts';

type Headers = Readonly<Record<string, string>>;

/** A valid key, spelt and repeated as clients and attackers do. */
const SPELLINGS: readonly Headers[] = [
  { authorization: 'Bearer key' },
  { authorization: 'bearer  key' },
  { 'x-api-key': 'key' },
  { 'api-key': 'key' },
  { authorization: 'Bearer key', 'x-api-key': 'key' },
];

/** The same key, and another that nobody has checked. */
const AMBIGUOUS: Headers = { authorization: 'Bearer key', 'x-api-key': randomUUID() };

let fake: FakeUpstream;
let url: string;
let close: () => Promise<void>;

async function start(scope?: () => string): Promise<void> {
  fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream', retries: 0 });
  const own = { upstream, store: memoryStore(), ...(scope ? { scope } : {}) };
  const budget = tokenBudget({ limits: { requests: { points: 3, duration: 60 } }, ...(scope ? { scope } : {}) });
  const app = express()
    .use('/v1', responsesRouter(own), chatCompletionsRouter(own), messagesRouter(own))
    .use('/v1', filesRouter({ files: memoryFiles(), ...(scope ? { scope } : {}) }))
    .use('/budget', budget, (_, res) => void res.json({}))
    .use('/tools', injectTools({ tools: [], ...(scope ? { scope } : {}) }), (_, res) => void res.json({}));
  const started = await listening(app);
  url = started.url;
  close = async () => void (await Promise.all([started.close(), fake.close(), upstream.close?.()]));
}

afterEach(() => close());

async function asked(path: string, headers: Headers, body?: object) {
  const response = await fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: parsed(await response.text()) };
}

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const REQUESTS: readonly (readonly [path: string, body?: object])[] = [
  ['/v1/responses', { model: 'm', input: 'Hi' }],
  ['/v1/responses/resp_1'],
  ['/v1/conversations', {}],
  ['/v1/chat/completions', CHAT],
  ['/v1/messages', { ...CHAT, max_tokens: 10 }],
  ['/v1/files'],
  ['/budget/chat/completions', CHAT],
  ['/tools/chat/completions', CHAT],
];

it.each(REQUESTS.map(([path, body]) => ({ path, body })))(
  '[G-04] are refused at $path if they differ',
  async ({ path, body }) => {
    await start();
    const { status, body: refused } = await asked(path, AMBIGUOUS, body);
    const { message } = refused.error as { readonly message: string };
    expect([status, message]).toEqual([
      400,
      "The request has several different credentials in authorization, x-api-key, api-key, and this server cannot tell whose it is. Send one of them, or have this server set its option 'scope'.",
    ]);
    expect(fake.requests).toEqual([]);
  },
);

it('[G-04] are refused in any framework if they differ', async () => {
  await start();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream' });
  const { signal } = new AbortController();
  const request = { method: 'GET', path: '/responses/resp_1', headers: AMBIGUOUS, signal };
  const reply = await openResponses({ upstream }).handle(request);
  const answer = await openResponses({ upstream }).fetch(new Request('http://host/models', { headers: AMBIGUOUS }));
  expect([reply?.status, answer.status, parsed(await answer.text()).error]).toEqual([
    400,
    400,
    expect.objectContaining({ code: 'ambiguous_credentials' }),
  ]);
});

it('[G-04] may differ where the host names the tenant', async () => {
  await start(() => 'tenant');
  const seen = [];
  for (const [path, body] of REQUESTS) seen.push((await asked(path, AMBIGUOUS, body)).status);
  expect(seen).toEqual([200, 404, 200, 200, 200, 200, 200, 200]);
});

it('[G-04] find what they have stored however the key is spelt', async () => {
  await start();
  const { id } = (await asked('/v1/responses', { authorization: 'Bearer key' }, { model: 'm', input: 'Hi' })).body;
  const seen = [];
  for (const headers of SPELLINGS) seen.push((await asked(`/v1/responses/${id}`, headers)).status);
  expect([seen, (await asked(`/v1/responses/${id}`, { 'x-api-key': 'other' })).status]).toEqual([
    [200, 200, 200, 200, 200],
    404,
  ]);
});

it('[G-04] share one budget however the key is spelt', async () => {
  await start();
  const seen = [];
  for (const headers of SPELLINGS) seen.push((await asked('/budget/chat/completions', headers, CHAT)).status);
  expect(seen).toEqual([200, 200, 200, 429, 429]);
});
