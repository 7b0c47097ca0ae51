/** Bodies that something in front of the router has read, and not parsed, and headers as adapters of platforms make them. */

import type { RequestHandler } from 'express';
import express from 'express';
import { openResponses } from 'express-open-responses/core';
import {
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  responsesRouter,
  type Upstream,
} from '../../src/index.ts';
import type { Limits } from '../../src/ports/limits.ts';
import type { ApiError } from '../../src/protocol/errors.ts';
import { chatCompletion, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { withLimits } from '../support/limits.ts';
import { type Listening, listening } from '../support/listening.ts';

const BODY = JSON.stringify({ model: 'm', input: 'Hi.', max_tokens: 9, messages: [{ role: 'user', content: 'Hi.' }] });

let fake: FakeUpstream;
let upstream: Upstream;
let app: Listening | undefined;

beforeEach(async () => {
  fake = await startFakeUpstream({ reply: { body: chatCompletion('Hello.') } });
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
});
afterEach(async () => {
  await app?.close();
  await upstream.close?.();
  await fake.close();
  app = undefined;
});

async function answered(
  before: RequestHandler,
  body = BODY,
  limits: Partial<Limits> = {},
): Promise<readonly (readonly [number, string])[]> {
  const routers = withLimits(limits, (limits) => {
    const options = { upstream, store: memoryStore(), logger: false, limits } as const;
    return [responsesRouter(options), messagesRouter(options)];
  });
  app = await listening(express().use(before).use(routers));
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const answers = [];
  for (const path of ['responses', 'messages']) {
    const answer = await fetch(`${app.url}/${path}`, { method: 'POST', headers, body });
    answers.push([answer.status, await answer.text()] as const);
  }
  return answers;
}

/** As AWS Lambda's adapters do: a number among the headers, a buffer as the body, and the same bytes as a stream. */
const lambda: RequestHandler = (req, _res, next) => {
  Object.assign(req.headers, { 'content-length': BODY.length });
  req.body = Buffer.from(BODY);
  next();
};

const number: RequestHandler = (req, _res, next) => {
  Object.assign(req.headers, { 'content-length': Number(req.headers['content-length']) });
  next();
};

it.each([
  ['express.text', express.text({ type: '*/*' })],
  ['express.raw', express.raw({ type: '*/*' })],
  ['an adapter of AWS Lambda', lambda],
  ['a number in the place of a header', number],
] as const)('[K-11] takes the body behind %s', async (_name, before) => {
  const answers = await answered(before);
  expect(answers).toEqual([
    [200, expect.stringContaining('Hello.')],
    [200, expect.stringContaining('Hello.')],
  ]);
});

it.each([
  ['is no JSON', '{"model":', {}, 400],
  ['is too long', BODY, { bodyBytes: 20 }, 413],
  ['has too many values', BODY, { bodyValues: 2 }, 413],
] as const)('[K-11] refuses a body that was read and %s', async (_name, body, limits, status) => {
  const answers = await answered(express.text({ type: '*/*' }), body, limits);
  expect(answers.map(([code]) => code)).toEqual([status, status]);
});

it('[K-11] takes a body as text from a host without Express', async () => {
  const api = openResponses({ upstream, store: memoryStore(), logger: false });
  const headers = { 'content-type': 'application/json' };
  const signal = new AbortController().signal;
  const reply = await api.handle({ method: 'POST', path: '/responses', headers, body: BODY, signal });
  expect([reply?.status, reply?.body]).toEqual([200, expect.stringContaining('Hello.')]);
});

it('[K-11] answers in the envelope, and tells the host why, where something in front has read the body and not left it', async () => {
  const faults: unknown[] = [];
  const logging: RequestHandler = (req, _res, next) => void req.resume().once('end', () => next());
  const hooks = { onError: ({ cause }: ApiError) => cause && faults.push(cause) };
  const router = responsesRouter({ upstream, store: memoryStore(), logger: false, hooks });
  app = await listening(express().use('/v1', logging, router));
  const headers = { 'content-type': 'application/json' };
  const lost = await fetch(`${app.url}/v1/responses`, { method: 'POST', headers, body: BODY });
  expect([lost.status, await lost.json(), String(faults[0])]).toEqual([
    500,
    { error: { message: expect.any(String), type: 'server_error', param: null, code: 'server_error' } },
    'TypeError: another handler has read the body and left no req.body; mount the router before it, or a parser such as express.json()',
  ]);
  // Nothing was sent, and nothing read: that is the client's.
  const empty = await fetch(`${app.url}/v1/responses`, { method: 'POST', headers });
  expect([empty.status, faults.length]).toEqual([400, 1]);
});
