/** Tenants without the option `scope`: whichever header identifies them, none reaches another's data. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import { openResponses } from 'express-open-responses/core';
import { WebSocket } from 'ws';
import { createApp } from '../../examples/koa-adapter/app.ts';
import { attachResponsesWebSocket } from '../../src/hosts/websocket/index.ts';
import {
  type CoreOptions,
  chatCompletionsUpstream,
  injectTools,
  loadHistory,
  memoryStore,
  recordTurn,
  responsesRouter,
  validateMessages,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { tally } from './tally.ts';

type Headers = Readonly<Record<string, string>>;

const { tried } = tally('tenants');

/** A long key, whose last character alone makes a difference. */
const LONG = 'k'.repeat(4000);

/** Each is a different tenant. */
const TENANTS: Readonly<Record<string, Headers>> = {
  'authorization a': { authorization: 'Bearer a' },
  'authorization b': { authorization: 'Bearer b' },
  'authorization A': { authorization: 'Bearer A' },
  'x-api-key c': { 'x-api-key': 'c' },
  'x-api-key d': { 'x-api-key': 'd' },
  'api-key e': { 'api-key': 'e' },
  'api-key f': { 'api-key': 'f' },
  'the same key twice': { authorization: 'Bearer g', 'x-api-key': 'g' },
  'a placeholder': { authorization: 'Bearer unused' },
  'a long key': { 'x-api-key': `${LONG}a` },
  'a long key, too': { 'x-api-key': `${LONG}b` },
  'cookie a': { cookie: 'session=a' },
  'cookie a, again': { cookie: 'session=a' },
  'cookie b': { cookie: 'session=b' },
  'cookie b and another': { cookie: 'session=b; theme=dark' },
  nobody: {},
};

/** The next tenants in the list, which is a ring: neighbours are the ones that are most easily confused. */
function neighboursOf(owner: string, many: number): readonly (readonly [string, Headers])[] {
  const all = Object.entries(TENANTS);
  const at = Object.keys(TENANTS).indexOf(owner);
  return [...all, ...all].slice(at + 1, at + 1 + many);
}

const isCookie = (name: string) => name.startsWith('cookie');

let fake: FakeUpstream;
const running: { close(): unknown }[] = [];

beforeEach(async () => {
  fake = await startFakeUpstream();
});

afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
  await fake.close();
});

function coreOptions(): CoreOptions {
  return { upstream: chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key' }), store: memoryStore() };
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  running.push({
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  });
  // The cast: a server that listens on TCP has an address.
  return `127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const HOSTS: Readonly<Record<string, () => Promise<string>>> = {
  Express: () => listening(createServer(express().use('/v1', responsesRouter(coreOptions())))),
  'Express behind our own middlewares': () => {
    const options = coreOptions();
    const stages = [injectTools(options), loadHistory(options), validateMessages(options)];
    return listening(createServer(express().use('/v1', ...stages, responsesRouter(options))));
  },
  'the Web handler': () =>
    // The cast: without further options it makes a server of HTTP/1.
    listening(createAdaptorServer({ fetch: openResponses({ ...coreOptions(), basePath: '/v1' }).fetch }) as Server),
  Koa: () => listening(createServer(createApp(openResponses(coreOptions())).callback())),
};

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(url: string, method: string, path: string, headers: Headers, body?: JsonObject): Promise<Answer> {
  const init = body ? { body: JSON.stringify(body) } : {};
  const type = body ? { 'content-type': 'application/json' } : {};
  const response = await fetch(`http://${url}${path}`, { method, headers: { ...type, ...headers }, ...init });
  return { status: response.status, text: await response.text() };
}

const SECRET = 'the-word-is-heron';

interface Owned {
  readonly response: string;
  readonly item: string;
  readonly conversation: string;
  readonly conversationItem: string;
}

/** The data of a tenant: a stored response, and a conversation with an item in it. */
async function owned(url: string, headers: Headers): Promise<Owned> {
  const input = `Remember: ${SECRET}`;
  const made = await send(url, 'POST', '/responses', headers, { model: 'm', input });
  expect(made.status).toBe(200);
  const response = JSON.parse(made.text) as { id: string; output: readonly { id: string }[] };
  const conversation = await send(url, 'POST', '/conversations', headers, {
    items: [{ role: 'user', content: input }],
  });
  const { id = `conv_${'0'.repeat(32)}` } = JSON.parse(conversation.text) as { id?: string };
  const items = await send(url, 'GET', `/conversations/${id}/items`, headers);
  const [first] = items.status === 200 ? (JSON.parse(items.text) as { data: { id: string }[] }).data : [];
  return {
    response: response.id,
    item: String(response.output[0]?.id),
    conversation: id,
    conversationItem: first?.id ?? 'msg_none',
  };
}

/** Every request that names one of these ids, and whether it must be refused: a reference is left out instead. */
function attacks(of: Owned): readonly (readonly [method: string, path: string, body?: JsonObject])[] {
  const { response, item, conversation, conversationItem } = of;
  const ask = { model: 'm', input: 'Tell me.' };
  return [
    ['GET', `/responses/${response}`],
    ['GET', `/responses/${response}?stream=true`],
    ['GET', `/responses/${response}/input_items`],
    ['HEAD', `/responses/${response}`],
    ['POST', `/responses/${response}/cancel`, {}],
    ['POST', '/responses', { ...ask, previous_response_id: response }],
    ['POST', '/responses', { ...ask, previous_response_id: response, stream: true }],
    ['POST', '/responses', { ...ask, conversation }],
    ['POST', '/responses', { ...ask, conversation: { id: conversation }, stream: true }],
    ['POST', '/responses/compact', { ...ask, previous_response_id: response }],
    ['POST', '/responses/input_tokens', { ...ask, previous_response_id: response }],
    [
      'POST',
      '/responses',
      {
        model: 'm',
        input: [
          { type: 'item_reference', id: item },
          { role: 'user', content: '?' },
        ],
      },
    ],
    ['GET', `/conversations/${conversation}`],
    ['POST', `/conversations/${conversation}`, { metadata: { stolen: 'yes' } }],
    ['GET', `/conversations/${conversation}/items`],
    ['POST', `/conversations/${conversation}/items`, { items: [{ role: 'user', content: 'I was here.' }] }],
    ['GET', `/conversations/${conversation}/items/${conversationItem}`],
    ['DELETE', `/conversations/${conversation}/items/${conversationItem}`],
    ['DELETE', `/conversations/${conversation}`],
    ['DELETE', `/responses/${response}`],
  ];
}

describe.each(Object.keys(HOSTS))('on %s', (host) => {
  it('[F-08] no tenant reaches another’s data on any path, and each reaches its own', async () => {
    const url = await (HOSTS[host] as () => Promise<string>)();
    const made = new Map<string, Owned>();
    for (const [name, headers] of Object.entries(TENANTS)) made.set(name, await owned(url, headers));

    const reached: string[] = [];
    for (const [owner, of] of made) {
      for (const [other, headers] of neighboursOf(owner, host === 'Express' ? 5 : 2)) {
        for (const [method, path, body] of attacks(of)) {
          const requested = fake.requests.length;
          const { status, text } = await send(url, method, path, headers, body);
          const isReference = Array.isArray(body?.input);
          const reported = JSON.stringify(fake.requests.slice(requested).map((request) => request.body));
          const held = (isReference ? status === 200 : status === 404 || status === 400) && !text.includes(SECRET);
          if (!held || reported.includes(SECRET)) reached.push(`${other} → ${owner}: ${method} ${path} ${status}`);
        }
        tried('requests for what is another tenant’s', attacks(of).length);
      }
    }
    expect(reached.slice(0, 5)).toEqual([]);

    const own = await Promise.all(
      [...made].map(async ([name, { response, conversation }]) => {
        const headers = TENANTS[name] as Headers;
        const statuses = [
          (await send(url, 'GET', `/responses/${response}`, headers)).status,
          (await send(url, 'GET', `/conversations/${conversation}/items`, headers)).status,
        ];
        return `${name}: ${statuses}`;
      }),
    );
    expect(own).toEqual(Object.keys(TENANTS).map((name) => `${name}: ${isCookie(name) ? '404,404' : '200,200'}`));
  });
});

describe('middlewares in front of a proxy that deletes or replaces Authorization', () => {
  it('[F-06] [F-08] no tenant continues another’s recorded turn, in either API, streamed or not', async () => {
    for (const rewrite of ['delete', 'replace'] as const) {
      const store = memoryStore();
      let answers = 0;
      const app = express().use(recordTurn({ store }), loadHistory({ store }), (req, res) => {
        if (rewrite === 'delete') delete req.headers.authorization;
        else req.headers.authorization = 'Bearer upstream-key';
        for (const name of ['x-api-key', 'api-key']) delete req.headers[name];
        const id = `chatcmpl-${++answers}`;
        const message = { role: 'assistant', content: SECRET };
        res.json({
          id,
          object: 'chat.completion',
          created: 1,
          model: 'm',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
        });
      });
      const url = await listening(createServer(app));
      const path = '/chat/completions';
      const messages = [{ role: 'user', content: 'Hi' }];
      for (const [owner, headers] of Object.entries(TENANTS)) {
        const made = await send(url, 'POST', path, headers, { model: 'm', messages });
        const { id } = JSON.parse(made.text) as { id: string };
        for (const [other, theirs] of Object.entries(TENANTS)) {
          const { status } = await send(url, 'POST', path, theirs, { model: 'm', messages, previous_response_id: id });
          expect([owner, other, status]).toEqual([owner, other, owner === other && !isCookie(owner) ? 200 : 400]);
        }
        tried('continuations of a recorded turn', Object.keys(TENANTS).length);
      }
    }
  });
});

/** Sends one request on a connection; returns its last message. */
async function askOverSocket(url: string, headers: Headers, body: JsonObject): Promise<JsonObject> {
  const socket = new WebSocket(`ws://${url}/responses`, { headers });
  const last = new Promise<JsonObject>((resolve) => {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as JsonObject;
      if (/^(error|response\.(completed|failed))$/.test(String(message.type))) resolve(message);
    });
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'response.create', model: 'm', ...body }));
  return last.finally(() => socket.terminate());
}

describe('over WebSocket', () => {
  it('[F-08] no connection continues a response of another tenant’s connection', async () => {
    const options = coreOptions();
    const server = createServer(express().use('/v1', responsesRouter(options)));
    const attached = attachResponsesWebSocket(server, { ...options });
    running.push({ close: () => attached.close() });
    const url = await listening(server);
    for (const [owner, headers] of Object.entries(TENANTS)) {
      const { response } = (await askOverSocket(url, headers, { input: SECRET })) as { response: { id: string } };
      for (const [other, theirs] of Object.entries(TENANTS)) {
        const body = { input: 'And?', previous_response_id: response.id };
        const overSocket = await askOverSocket(url, theirs, body);
        const overHttp = await send(url, 'GET', `/responses/${response.id}`, theirs);
        const isOwn = owner === other && !isCookie(owner);
        expect([owner, other, overSocket.type, overHttp.status]).toEqual([
          owner,
          other,
          isOwn ? 'response.completed' : 'error',
          isOwn ? 200 : 404,
        ]);
      }
      tried('continuations over another connection', 2 * Object.keys(TENANTS).length);
    }
  });
});
