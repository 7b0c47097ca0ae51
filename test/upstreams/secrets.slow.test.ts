/** No secret that an upstream sends comes back out, however the model server repeats it. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import express from 'express';
import {
  type ApiError,
  type ChatCompletionsOptions,
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  type Upstream,
} from '../../src/index.ts';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { chatChunk, type FakeRequest, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { type App, startApp } from '../support/app.ts';
import { expectLinearWork } from '../support/linear-work.ts';

const SECRETS = {
  key: 'apikey-0123456789',
  azure: 'azure/secret+"quoted"=',
  short: 'h4x0r',
  cookie: 'session=ada-cookie',
  password: 'pass:word-of-basic',
  organisation: 'org-heron-islands',
  query: 'query secret/&+1',
  forwarded: 'forwarded/of-client',
};

const basic = Buffer.from(`user:${SECRETS.password}`).toString('base64');
const FIXED = {
  'Api-Key': SECRETS.azure,
  'x-access-token': SECRETS.short,
  cookie: SECRETS.cookie,
  'proxy-authorization': `Basic ${basic}`,
  'x-organisation': SECRETS.organisation,
};

/** Every spelling that must not be seen of any of them. */
const FORBIDDEN = ['apikey-'].concat(
  Object.values(SECRETS).flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]),
);

function repeated({ headers, path }: FakeRequest): string {
  const values = Object.values(SECRETS).map((secret) => [
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    Buffer.from(secret).toString('base64'),
  ]);
  return `got ${JSON.stringify(headers)} at ${path} ${decodeURIComponent(path)} ${values.flat().join(' ')}`;
}

let fake: FakeUpstream;
let app: App | undefined;

beforeEach(async () => {
  fake = await startFakeUpstream();
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  await fake.close();
});

type Make = (options: ChatCompletionsOptions) => Upstream;
const UPSTREAMS: Readonly<Record<string, Make>> = {
  chatCompletionsUpstream: (options) => chatCompletionsUpstream(options),
  responsesUpstream: ({ baseURL, apiKey, headers, forwardHeaders }) =>
    responsesUpstream({ baseURL, apiKey, headers, forwardHeaders, retries: 0 }),
  anthropicUpstream: ({ baseURL, apiKey, headers, forwardHeaders }) =>
    anthropicUpstream({ baseURL, apiKey, headers, forwardHeaders, retries: 0 }),
};

function withSecrets(make: Make, headers: ChatCompletionsOptions['headers']): Upstream {
  const baseURL = `${fake.baseURL}?code=${encodeURIComponent(SECRETS.query)}`;
  return make({ baseURL, apiKey: SECRETS.key, headers, forwardHeaders: ['x-user-token'], retries: 0 });
}

/** What the model server says about the request, in each shape that an error may have. */
const REPLIES: Readonly<
  Record<string, (request: FakeRequest) => { status?: number; headers?: Record<string, string>; body: string }>
> = {
  'a refusal': (request) => ({
    status: 401,
    headers: { 'retry-after': SECRETS.key },
    body: JSON.stringify({
      error: { message: repeated(request), code: SECRETS.azure, type: `${SECRETS.short}_error`, param: SECRETS.query },
    }),
  }),
  'a refusal that is longer than is shown': (request) => ({
    status: 500,
    body: JSON.stringify({ error: { message: 'x'.repeat(4096 - 8) + SECRETS.key + repeated(request) } }),
  }),
  'a refusal that is longer than is read': () => ({
    status: 500,
    body: JSON.stringify({ error: { message: SECRETS.key.repeat(10_000).slice(0, 65_536 + 5) } }),
  }),
  'an error in the stream': (request) => ({
    body: `data: ${JSON.stringify({ type: 'error', error: { type: 'api_error', message: repeated(request) } })}\n\n`,
  }),
  'an error behind the first words': (request) => ({
    body: `${chatChunk({ content: 'Hel' })}data: ${JSON.stringify({ error: { message: repeated(request) } })}\n\n`,
  }),
  'no JSON, of which an error would quote the beginning': () => ({ body: `data: ${SECRETS.key}${SECRETS.key}\n\n` }),
  'no JSON': (request) => ({ body: `data: {${repeated(request)}\n\n` }),
};

describe.each(Object.keys(UPSTREAMS))('%s', (name) => {
  describe.each<[string, ChatCompletionsOptions['headers']]>([
    ['an object', FIXED],
    ['a function', () => FIXED],
  ])('with headers of %s', (_, headers) => {
    it.each(Object.keys(REPLIES))('[F-11] shows no secret to clients and hooks: %s', async (kind) => {
      const reported: ApiError[] = [];
      const notes: unknown[] = [];
      const hooks = {
        onError: (error: ApiError) => void reported.push(error),
        onNote: (note: unknown) => void notes.push(note),
      };
      app = await startApp({ options: { upstream: withSecrets(UPSTREAMS[name] as Make, headers), hooks } });
      fake.reply((request) => (REPLIES[kind] as (typeof REPLIES)[string])(request));
      const seen: string[] = [];
      for (const stream of [false, true]) {
        const response = await fetch(`${app.url}/responses`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-user-token': SECRETS.forwarded },
          body: JSON.stringify({ model: 'm', input: 'Hi', stream }),
        });
        seen.push(JSON.stringify([...response.headers]), await response.text());
      }
      const all = `${seen.join('\n')}\n${inspect([reported, notes], { depth: 9, maxStringLength: null })}`;
      expect([reported.length > 0, FORBIDDEN.filter((secret) => all.includes(secret))]).toEqual([true, []]);
    });
  });
});

it('[F-11] shows no secret in a chat completion’s errors either, each request’s own among them', async () => {
  const reported: ApiError[] = [];
  const upstream = withSecrets(UPSTREAMS.chatCompletionsUpstream as Make, () => FIXED);
  const router = chatCompletionsRouter({
    upstream,
    store: memoryStore(),
    hooks: { onError: (error) => void reported.push(error) },
  });
  const server = createServer(express().use(router)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat/completions`;
  let all = '';
  for (const reply of Object.values(REPLIES)) {
    fake.reply((request) => reply(request));
    for (const stream of [false, true]) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-user-token': SECRETS.forwarded },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream }),
      });
      const text = await response.text();
      // What is no JSON passes byte for byte: it is the model server's answer, and no error that we could read.
      if (!String(text).includes('data: ')) all += text;
    }
  }
  server.close();
  server.closeAllConnections();
  await upstream.close?.();
  all += inspect(reported, { depth: 9, maxStringLength: null });
  expect([reported.length > 6, FORBIDDEN.filter((secret) => all.includes(secret))]).toEqual([true, []]);
});

it('[F-11] finds secrets in work that is linear in the message, whatever it holds', async () => {
  const secret = `${'a'.repeat(15_000)}b`;
  const upstream = chatCompletionsUpstream({
    baseURL: fake.baseURL,
    apiKey: secret,
    headers: { 'x-key': secret },
    retries: 0,
  });
  const attempts: readonly ((size: number) => string)[] = [
    (size) => 'a'.repeat(size),
    (size) => `${'a'.repeat(14_999)}c`.repeat(size / 15_000),
    (size) => 'sk-'.repeat(size / 4),
    (size) => `Bearer ${' '.repeat(size)}`,
  ];
  const fail = async (message: string) => {
    const failed = upstream.stream(
      { model: 'm', items: [], tools: [] },
      {
        signal: new AbortController().signal,
        headers: new Headers(),
        limits: { ...DEFAULT_LIMITS, firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000, eventBytes: 1e9 },
        note: () => {},
      },
    );
    fake.reply({ status: 500, body: JSON.stringify({ error: { message } }) });
    await expect(
      (async () => {
        for await (const _ of failed);
      })(),
    ).rejects.toThrow();
  };
  for (const attempt of attempts) await expectLinearWork(150_000, (size) => fail(attempt(size)));
  await upstream.close?.();
});
