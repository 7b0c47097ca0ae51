/** The chat router in somebody else's app: behind its auth, at any path, several times, beside the Responses router. */

import express from 'express';
import OpenAI from 'openai';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  type RouterOptions,
  responsesRouter,
  type ToolProvider,
  type Upstream,
} from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { ask, askJson, QUESTION, requestedOf, USER, whole } from './chat-app.ts';
import { calling, result, says, wired } from './script.ts';

const THEIRS = calling('theirs', { b: 2 });
const OURS = calling('ours');

let fake: FakeUpstream;
let upstream: Upstream;
let closing: (() => Promise<unknown>)[];

beforeEach(async () => {
  fake = await startFakeUpstream();
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key', retries: 0 });
  closing = [async () => upstream.close?.(), fake.close];
});
afterEach(() => Promise.all(closing.map((close) => close())));

/** The address of a host's app. */
async function serve(app: ReturnType<typeof express>): Promise<string> {
  const { url, close } = await listening(app);
  closing.push(close);
  return url;
}

/** `ours`, which says who asked for it. */
function tools(): ToolProvider {
  const execute = (_: JsonObject, { scope, request }: { scope: string; request: unknown }) =>
    `for ${scope} at ${(request as { originalUrl: string }).originalUrl}`;
  return functionTools({ ours: { execute } });
}

it('[X-01] works at any path, behind the auth and the logging of the host, whose errors stay its own', async () => {
  const seen: string[] = [];
  const app = express();
  app.use((req, _res, next) => {
    seen.push(req.method + req.originalUrl);
    next();
  });
  app.use('/ai/:team', (req, res, next) =>
    req.headers.authorization ? next() : void res.status(401).json({ who: '?' }),
  );
  app.use('/ai/:team', chatCompletionsRouter({ upstream }));
  app.use((_req, res) => void res.status(404).json({ host: true }));
  const url = await serve(app);
  const refused = await askJson(`${url}/ai/red`);
  const allowed = await askJson(`${url}/ai/red`, {}, { headers: { authorization: 'Bearer me' } });
  const missing = await fetch(`${url}/ai/red/chat/other`, { headers: { authorization: 'Bearer me' } });
  expect([refused.body, allowed.status, missing.status, seen.length, fake.requests.length]).toEqual([
    { who: '?' },
    200,
    404,
    3,
    1,
  ]);
});

it('[X-01] [P-11] takes the body that the host has already parsed, however it was sent', async () => {
  const app = express().use(express.json({ type: '*/*' }), chatCompletionsRouter({ upstream }));
  const url = await serve(app);
  await askJson(url, { user: 'me' });
  expect(requestedOf({ fake })).toEqual({ ...QUESTION, user: 'me' });
});

it('[X-01] works several times with different options, each to itself', async () => {
  const other = await startFakeUpstream();
  const asking = chatCompletionsUpstream({ baseURL: other.baseURL });
  closing.push(other.close, async () => asking.close?.());
  const app = express();
  app.use('/one', chatCompletionsRouter({ upstream, tools: tools() }));
  app.use('/two', chatCompletionsRouter({ upstream: asking, limits: { request: { bodyBytes: 60 } } }));
  const url = await serve(app);
  await askJson(`${url}/one`);
  const refused = await askJson(`${url}/two`);
  await askJson(`${url}/two`, '{"model":"m","messages":[{"role":"user"}]}');
  expect([Object.keys(requestedOf({ fake })), refused.status, requestedOf({ fake: other })]).toEqual([
    ['model', 'messages', 'tools'],
    413,
    { model: 'm', messages: [{ role: 'user' }] },
  ]);
});

it('[X-01] works with no options at all, by the environment', async () => {
  const { OPENAI_BASE_URL: before } = process.env;
  process.env.OPENAI_BASE_URL = fake.baseURL;
  const router = chatCompletionsRouter();
  if (before === undefined) delete process.env.OPENAI_BASE_URL;
  else process.env.OPENAI_BASE_URL = before;
  const url = await serve(express().use('/v1', router));
  expect(await whole(`${url}/v1`)).toEqual({ content: 'Hello!', calls: [], finish: 'stop' });
});

describe('two chat routers and a Responses router with one store and one provider of tools', () => {
  const AUTH = { headers: { authorization: 'Bearer client-key' } };
  let url: string;

  beforeEach(async () => {
    const shared: RouterOptions = { upstream, store: memoryStore(), tools: tools(), scope: () => 'team' };
    const app = express();
    app.use('/v1', responsesRouter(shared), chatCompletionsRouter(shared));
    app.use('/v2', chatCompletionsRouter(shared));
    url = await serve(app);
  });

  /** A turn that calls tools of both sides, and the client's next messages. */
  async function mixedTurn(): Promise<readonly JsonObject[]> {
    fake.reply(says({ calls: [THEIRS, OURS] }));
    const { calls } = await whole(`${url}/v1`);
    fake.reply(says({ text: 'Done.' }));
    return [USER, { role: 'assistant', content: null, tool_calls: calls.map(wired) }, result(THEIRS, 'mine')];
  }

  it('[X-01] [T-04] let a conversation go on at the other chat router', async () => {
    await askJson(`${url}/v2`, { messages: await mixedTurn() }, AUTH);
    expect(requestedOf({ fake }).messages).toEqual([
      USER,
      { role: 'assistant', content: null, tool_calls: [wired(OURS), wired(THEIRS)] },
      result(OURS, 'for team at /v1/chat/completions'),
      result(THEIRS, 'mine'),
    ]);
  });

  it('[X-01] do not show as responses what the chat routers keep', async () => {
    await mixedTurn();
    const id = `chat_${THEIRS.id}`;
    const requested = [`/v1/responses/${id}`, `/v1/responses/${id}/input_items`].map((path) => fetch(url + path, AUTH));
    const statuses = (await Promise.all(requested)).map(({ status }) => status);
    expect(statuses).toEqual([404, 404]);
  });

  // Red on purpose: `previous_response_id` does not yet refuse ids of another kind.
  it('[X-01] do not let a response go on from what the chat routers keep', async () => {
    await mixedTurn();
    const body = JSON.stringify({ model: 'm', input: 'Hi', previous_response_id: `chat_${THEIRS.id}` });
    const headers = { ...AUTH.headers, 'content-type': 'application/json' };
    expect((await fetch(`${url}/v1/responses`, { method: 'POST', headers, body })).status).toBe(400);
  });

  it('[X-01] [T-02] run the same tool for both APIs', async () => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'client-key', maxRetries: 0 });
    fake.reply(says({ calls: [OURS] }), says({ text: 'Done.' }), says({ calls: [OURS] }), says({ text: 'Done.' }));
    const response = await client.responses.create({ model: 'm', input: 'Go.' });
    const completion = await client.chat.completions.create(QUESTION);
    const [call] = response.output.filter(({ type }) => type === 'mcp_call');
    expect([
      call,
      response.output_text,
      completion.choices[0]?.message.content,
      requestedOf({ fake }).messages.at(-1),
    ]).toEqual([
      expect.objectContaining({ name: 'ours', output: 'for team at /v1/responses' }),
      'Done.',
      'Done.',
      result(OURS, 'for team at /v1/chat/completions'),
    ]);
  });
});

it.each<readonly [wrong: RouterOptions, message: string]>([
  [{ toolz: 1 } as RouterOptions, "chatCompletionsRouter: unknown option 'toolz'"],
  [
    { tools: 1 } as unknown as RouterOptions,
    'chatCompletionsRouter: tools must be tool providers, such as functionTools({ … }) or mcpTools({ … }), or a function, got 1',
  ],
  [
    { upstream: { name: 'other', stream: () => [] } } as unknown as RouterOptions,
    "chatCompletionsRouter: upstream must speak Chat Completions, got 'other'",
  ],
])('[X-01] refuses %j at once, by name', (wrong, message) => {
  const error = { name: 'TypeError', message: expect.stringContaining(message) };
  expect(() => chatCompletionsRouter(wrong)).toThrow(expect.objectContaining(error));
});

it('[X-01] answers a client of another origin no differently than a browser may read it: as JSON only', async () => {
  const url = await serve(express().use(chatCompletionsRouter({ upstream })));
  const answer = await ask(url, {}, { headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  expect(answer.status).toBe(415);
});
