/** A stream opens while the model server has not answered yet: what its client receives until then, and how it fails. */

import type { ServerResponse } from 'node:http';
import compression from 'compression';
import express, { type RequestHandler } from 'express';
import { openResponses } from 'express-open-responses/core';
import { withFailover } from 'express-open-responses/routing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  messagesRouter,
  type ResponseInfo,
  type RouterOptions,
  responsesRouter,
  runTools,
  type Upstream,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatStream,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { startSocketApp } from '../hosts/websocket/support.ts';
import { type Gate, gate } from '../support/gate.ts';
import { held } from '../support/held.ts';
import { type Listening, listening } from '../support/listening.ts';
import { until } from '../support/unread-client.ts';
import { expectWireLaws, readWire } from '../support/wire-laws.ts';
import { messagesStream, textBlock } from '../upstreams/messages-bytes.ts';

const SOON = { limits: { model: { openAfterMs: 20 } }, heartbeat: { intervalMs: 30 } } as const;
const LATE = { limits: { model: { openAfterMs: 60_000 } }, heartbeat: { intervalMs: 60_000 } } as const;
const COMMENT = ': heartbeat\n\n';
const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
const TOOLS = functionTools({ now: { execute: () => '12:00' } });
const MESSAGES = [{ role: 'user', content: 'Hi.' }];
const ASKED = {
  responses: { model: 'm', input: 'Hi.', stream: true },
  'chat/completions': { model: 'm', messages: MESSAGES, stream: true },
  messages: { model: 'm', max_tokens: 9, messages: MESSAGES, stream: true },
} as const;

/** One way to a model's answer. */
interface Way {
  readonly path: keyof typeof ASKED;
  readonly body?: JsonObject;
  readonly options?: RouterOptions;
  /** Mounted in the place of the routers. */
  readonly handler?: (upstream: Upstream, options: RouterOptions) => RequestHandler;
  readonly upstream?: (fake: FakeUpstream) => Upstream;
  /** What the model server says. */
  readonly said?: string;
  /** What comes first. */
  readonly opening: RegExp;
  /** What fills the silence after that. */
  readonly filling: RegExp;
  /** What comes once it has answered. */
  readonly answer: RegExp;
  /** What comes when it fails, with its words. */
  readonly failure: RegExp;
}

const RESPONSES = {
  path: 'responses',
  opening: /^event: response\.created\n.*\n\nevent: response\.in_progress\n.*\n\n/,
  filling: /: heartbeat\n\n$/,
  answer: /event: response\.output_text\.delta\n[\s\S]*event: response\.completed\n/,
  failure: /event: error\n.*No credit\..*\n\nevent: response\.failed\n.*No credit\./,
} as const satisfies Way;

const CHAT = {
  path: 'chat/completions',
  opening: /^: heartbeat\n\n/,
  filling: /(: heartbeat\n\n){2}$/,
  answer: /^data: [\s\S]*data: \[DONE\]\n\n$/,
  failure: /^data: \{"error":\{.*No credit\..*\}\}\n\ndata: \[DONE\]\n\n$/,
} as const satisfies Way;

const MESSAGE = {
  path: 'messages',
  opening: /^event: message_start\n.*\n\n/,
  filling: /event: ping\n.*\n\n$/,
  answer: /event: content_block_delta\n[\s\S]*event: message_stop\n/,
  failure: /event: error\n.*No credit\..*\n\n$/,
} as const satisfies Way;

const anthropic = (fake: FakeUpstream) => anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
const ANTHROPIC_WORDS = messagesStream([textBlock(0, 'Hel', 'lo.')]);

const WAYS: Readonly<Record<string, Way>> = {
  'the Responses API': RESPONSES,
  'the Responses API with keepalive events': {
    ...RESPONSES,
    options: { heartbeat: { intervalMs: 30, style: 'keepalive' } },
    filling: /event: keepalive\ndata: \{"type":"keepalive","sequence_number":2\}\n\n/,
  },
  'the Responses API with tools of the server': { ...RESPONSES, options: { tools: TOOLS } },
  'a durable stream': { ...RESPONSES, options: { background: { durable: true }, store: memoryStore() } },
  'the dialect open-responses-server': {
    ...RESPONSES,
    options: { dialect: 'open-responses-server' },
    opening: /^event: response\.created\n.*\n\n/,
    failure: /No credit\./,
  },
  'the dialect vllm-responses': { ...RESPONSES, options: { dialect: 'vllm-responses' }, failure: /No credit\./ },
  'the dialect tokligence': {
    ...RESPONSES,
    options: { dialect: 'tokligence', heartbeat: { intervalMs: 30, style: 'ping' } },
    opening: /^event: response\.created\n.*\n\n/,
    filling: /event: ping\n.*\n\n$/,
    failure: /No credit\./,
  },
  'Chat Completions': CHAT,
  'Chat Completions with tools of the server': { ...CHAT, options: { tools: TOOLS } },
  'runTools over an upstream': {
    ...CHAT,
    handler: (upstream, { limits, heartbeat }) =>
      runTools({ tools: TOOLS, upstream, limits, heartbeat }) as RequestHandler,
  },
  'the Messages API': MESSAGE,
  'the Messages API without thoughts': { ...MESSAGE, body: { thinking: { type: 'adaptive', display: 'omitted' } } },
  "the Messages API over Anthropic's": {
    ...MESSAGE,
    options: { tools: TOOLS },
    upstream: anthropic,
    said: ANTHROPIC_WORDS,
  },
  "Anthropic's answer, passed on": {
    ...MESSAGE,
    upstream: anthropic,
    said: ANTHROPIC_WORDS,
    opening: /^event: ping\n.*\n\n/,
    filling: /(event: ping\n.*\n\n){2}$/,
    answer: /^event: message_start\n[\s\S]*event: message_stop\n/,
  },
};

let fake: FakeUpstream;
let app: Listening;
let upstreams: Upstream[] = [];
let ended: ResponseInfo[] = [];
const more: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  fake = await startFakeUpstream();
});
afterEach(async () => {
  await app?.close();
  for (const close of more.splice(0)) await close();
  for (const upstream of upstreams) await upstream.close?.();
  await fake.close();
  upstreams = [];
  ended = [];
});

async function start(way: Way, options: RouterOptions = {}, before: readonly RequestHandler[] = []): Promise<void> {
  const chat = () => chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
  const upstream = options.upstream ?? (way.upstream ? way.upstream(fake) : chat());
  upstreams.push(upstream);
  const hooks = { onResponse: (info: ResponseInfo) => void ended.push(info), onError: () => {} };
  const all: RouterOptions = { store: memoryStore(), hooks, logger: false, ...way.options, ...options, upstream };
  const routers = express();
  for (const each of before) routers.use(each);
  if (way.handler) routers.post('/v1/chat/completions', express.json(), way.handler(upstream, all));
  else if (way.path === 'responses') routers.use('/v1', responsesRouter(all));
  else if (way.path === 'messages') routers.use('/v1', messagesRouter(all));
  else routers.use('/v1', chatCompletionsRouter(all));
  app = await listening(routers);
}

/** The options of a way, opened soon: its own heartbeats remain. */
function soon({ options }: Way): RouterOptions {
  return { ...SOON, ...(options?.heartbeat ? { heartbeat: options.heartbeat } : {}) };
}

function asked({ path, body }: Way, init: RequestInit = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const text = JSON.stringify({ ...ASKED[path], ...body });
  return held(fetch(`${app.url}/v1/${path}`, { method: 'POST', headers, body: text, ...init }));
}

/** The model server answers this when the gate is opened. */
function waiting(reply: FakeReply, goOn: Gate = gate()): Gate {
  fake.reply(async () => {
    await goOn.opened;
    return reply;
  });
  return goOn;
}

const NO_CREDIT = (status: number): FakeReply => ({
  status,
  body: JSON.stringify({ type: 'error', error: { message: 'No credit.', type: 'billing_error' } }),
});

/** Reads on until the text matches; `rest` reads to the end. */
function readerOf(answer: Response) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) throw new Error('There is no body.');
  let text = '';
  return {
    async until(pattern: RegExp): Promise<string> {
      while (!pattern.test(text)) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`The stream ended: ${text}`);
        text += value;
      }
      return text;
    },
    async rest(): Promise<string> {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += value;
      }
    },
    cancel: () => reader.cancel(),
  };
}

const withoutFilling = (text: string) => text.replaceAll(COMMENT, '').replaceAll(PING, '');

describe.each(Object.entries(WAYS))('%s', (_name, way) => {
  it('[O-04] opens while the model server is silent, is filled, and goes on with its answer', async () => {
    const goOn = waiting({
      body: way.said ?? textStream(['Hel', 'lo.']),
      headers: { 'content-type': 'text/event-stream' },
    });
    await start(way, soon(way));
    const answer = await asked(way);
    const stream = readerOf(answer);
    const silent = await stream.until(new RegExp(`${way.opening.source}[^]*${way.filling.source}`));
    goOn.open();
    const whole = await stream.rest();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(withoutFilling(silent)).not.toContain('delta":');
    expect(withoutFilling(whole)).toMatch(way.answer);
    if (way.path === 'responses' && !way.options?.dialect) expectWireLaws(readWire(whole));
  });

  it.each([401, 429, 500])(
    '[O-04] fails by an event where the model server refuses with %d after the opening',
    async (status) => {
      const goOn = waiting(NO_CREDIT(status));
      await start(way, soon(way));
      const answer = await asked(way);
      const stream = readerOf(answer);
      await stream.until(way.opening);
      goOn.open();
      const whole = await stream.rest();
      expect(answer.status).toBe(200);
      expect(withoutFilling(whole)).toMatch(status === 429 || status === 500 ? way.failure : /error/);
      if (way.path === 'responses' && !way.options?.dialect) expectWireLaws(readWire(whole));
    },
  );

  it.each([401, 429, 500])(
    '[O-04] keeps the status where the model server refuses with %d before the opening',
    async (status) => {
      fake.reply(NO_CREDIT(status));
      await start(way, LATE);
      const answer = await asked(way);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json; charset=utf-8']);
    },
  );

  it('[O-04] fails by an event where the model server never answers', async () => {
    fake.reply({ hang: true });
    const options = soon(way);
    await start(way, { ...options, limits: { model: { ...options.limits?.model, firstByteTimeoutMs: 200 } } });
    const text = await (await asked(way)).text();
    expect(text).toMatch(way.opening);
    expect(text).toMatch(/stopped sending data/);
  });

  it('[O-04] ends the request to the model server when the client leaves, before the opening and after', async () => {
    fake.reply({ hang: true });
    await start(way, { ...LATE, background: { durable: false } });
    const leaving = new AbortController();
    const begun = fake.nextRequest();
    const answer = asked(way, { signal: leaving.signal }).catch(() => undefined);
    await begun;
    leaving.abort();
    await answer;
    await fake.closed(0);
    await app.close();
    await start(way, { ...soon(way), background: { durable: false } });
    const stream = readerOf(await asked(way));
    await stream.until(way.opening);
    await stream.cancel();
    expect(await fake.closed(1)).toEqual(expect.any(Number));
  });
});

describe('what stands around the stream', () => {
  const HELLO = textStream(['Hel', 'lo.']);

  it('[O-04] sends nothing but headers where the host wants no heartbeats', async () => {
    const goOn = waiting({ body: HELLO });
    await start(CHAT, { ...SOON, heartbeat: false });
    const answer = await asked(CHAT);
    goOn.open();
    expect([answer.status, await answer.text()]).toEqual([200, HELLO]);
  });

  it.each([
    ['Chat Completions', CHAT],
    ['the Responses API', RESPONSES],
  ] as const)('[O-04] waits for the model server of %s where the host wants it so', async (_name, way) => {
    const goOn = waiting(NO_CREDIT(402));
    await start(way, { limits: { model: { openAfterMs: Number.POSITIVE_INFINITY } }, heartbeat: { intervalMs: 1 } });
    const answer = asked(way);
    for (let turn = 0; turn < 5; turn += 1) await fetch(`${app.url}/elsewhere`);
    goOn.open();
    expect((await answer).status).toBe(402);
  });

  it('[O-04] tries again after the opening, and goes on with the second answer', async () => {
    const goOn = gate();
    const refused = async () => {
      await goOn.opened;
      return { status: 503, headers: { 'retry-after-ms': '1' }, body: '{}' };
    };
    fake.reply(refused, { body: HELLO });
    await start(RESPONSES, {
      ...SOON,
      upstream: chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 1 }),
    });
    const stream = readerOf(await asked(RESPONSES));
    await stream.until(/: heartbeat\n\n/);
    goOn.open();
    const whole = await stream.rest();
    expectWireLaws(readWire(whole));
    expect([fake.requests.length, whole.match(/event: response\.created/g)?.length]).toEqual([2, 1]);
    expect(whole).toMatch(/"delta":"lo\."[\s\S]*event: response\.completed/);
  });

  it.each([
    ['Chat Completions', CHAT],
    ['the Responses API', RESPONSES],
    ['the Messages API', MESSAGE],
  ] as const)('[O-04] goes to the next server after the opening: %s', async (_name, way) => {
    const spare = await startFakeUpstream({ reply: { body: HELLO } });
    more.push(spare.close);
    const goOn = waiting(NO_CREDIT(500));
    const at = ({ baseURL }: FakeUpstream) => chatCompletionsUpstream({ baseURL, apiKey: 'key', retries: 0 });
    await start(way, { ...SOON, upstream: withFailover([at(fake), at(spare)]) });
    const stream = readerOf(await asked(way));
    await stream.until(way.filling);
    const before = spare.requests.length;
    goOn.open();
    expect([before, withoutFilling(await stream.rest())]).toEqual([0, expect.stringMatching(way.answer)]);
  });

  it('[O-04] fails after the opening as often as the client asks, and keeps no such response', async () => {
    const goOn = waiting(NO_CREDIT(500));
    await start(RESPONSES, SOON);
    const stream = readerOf(await asked(RESPONSES));
    const id = /resp_[0-9a-f]+/.exec(await stream.until(/event: response\.in_progress/))?.[0];
    goOn.open();
    await stream.rest();
    const kept = await fetch(`${app.url}/v1/responses/${id}`);
    expect([kept.status, ended.map(({ status }) => status)]).toEqual([404, ['failed']]);
  });

  it('[O-04] is not held back by a middleware that compresses', async () => {
    const goOn = waiting({ body: HELLO });
    await start(CHAT, SOON, [compression()]);
    const stream = readerOf(await asked(CHAT));
    await stream.until(/: heartbeat\n\n/);
    goOn.open();
    expect(withoutFilling(await stream.rest())).toBe(HELLO);
  });

  it.each([
    ['Chat Completions', CHAT],
    ['the Responses API', RESPONSES],
    ['the Messages API', MESSAGE],
  ] as const)('[O-04] breaks the connection off where the host has begun an answer itself: %s', async (_name, way) => {
    fake.reply({ hang: true });
    await start(way, SOON, [
      (_req, res: ServerResponse, next) => {
        res.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
        next();
      },
    ]);
    await expect(asked(way).then((answer) => answer.text())).rejects.toThrow();
    // Where the opening came first, the model server has never been asked.
    await until(() => fake.openSockets === 0);
  });

  it('[O-04] runs tools after the opening, and numbers all events', async () => {
    const goOn = gate();
    const calls = toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]);
    const late = (body: string) => async () => {
      await goOn.opened;
      return { body };
    };
    fake.reply(late(calls), late(chatStream({ content: 'It is noon.' })));
    await start(RESPONSES, { ...SOON, tools: TOOLS });
    const stream = readerOf(await asked(RESPONSES));
    await stream.until(/: heartbeat\n\n/);
    goOn.open();
    const whole = await stream.rest();
    expectWireLaws(readWire(whole));
    expect(whole).toContain('It is noon.');
  });
});

describe('runTools over a handler', () => {
  const CALLS = toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]);

  async function behind(handler: RequestHandler): Promise<Response> {
    // The cast: Express's own handler.
    const tools = runTools({ ...SOON, tools: TOOLS, handler: handler as never }) as RequestHandler;
    app = await listening(express().post('/v1/chat/completions', express.json(), tools));
    return asked(CHAT);
  }

  it('[O-04] opens while the handler is silent, which reads its body and sets a cookie only then', async () => {
    const goOn = gate();
    const bodies: JsonObject[] = [];
    const answers = [CALLS, textStream(['Noon.'])];
    const answer = await behind(async (req, res) => {
      await goOn.opened;
      bodies.push(req.body);
      res.cookie('a', 'b').type('text/event-stream').send(answers.shift());
    });
    const stream = readerOf(answer);
    await stream.until(/: heartbeat\n\n/);
    goOn.open();
    expect(withoutFilling(await stream.rest())).toMatch(/Noon\.[\s\S]*data: \[DONE\]\n\n$/);
    expect(bodies.map(({ tools }) => (tools as JsonObject[]).length)).toEqual([1, 1]);
  });

  it.each([
    [
      'refuses',
      (res: ServerResponse) => void res.writeHead(402).end(JSON.stringify({ error: { message: 'No credit.' } })),
    ],
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
  ] as const)('[O-04] fails by an event where the handler %s after the opening', async (_name, act) => {
    const goOn = gate();
    const stream = readerOf(
      await behind(async (_req, res) => {
        await goOn.opened;
        act(res);
      }),
    );
    await stream.until(/: heartbeat\n\n/);
    goOn.open();
    const text = withoutFilling(await stream.rest());
    expect([/^data: \{"error":\{.*\}\}\n\ndata: \[DONE\]\n\n$/.test(text), text.includes('secret')]).toEqual([
      true,
      false,
    ]);
  });
});

it('[O-04] opens the stream of a Web handler', async () => {
  const goOn = waiting({ body: textStream(['Hel', 'lo.']) });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
  upstreams.push(upstream);
  const handler = openResponses({ ...SOON, upstream, store: memoryStore(), logger: false }).fetch;
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ASKED.responses),
  };
  const stream = readerOf(await handler(new Request('http://app/responses', init)));
  await stream.until(RESPONSES.opening);
  await stream.until(RESPONSES.filling);
  goOn.open();
  expect(await stream.rest()).toMatch(RESPONSES.answer);
});

describe('a WebSocket', () => {
  it('[O-04] receives response.created and pings while the model server is silent, and the answer then', async () => {
    const socket = await startSocketApp(SOON);
    more.push(socket.close);
    const goOn = gate();
    socket.fake.reply(async () => {
      await goOn.opened;
      return { body: textStream(['Hel', 'lo.']) };
    });
    const talk = await socket.connect();
    const pinged = new Promise((resolve) => talk.socket.once('ping', resolve));
    talk.create();
    const first = [await talk.next(), await talk.next()].map(({ type }) => type);
    await pinged;
    goOn.open();
    const rest = await talk.response();
    expect([first, rest.at(-1)?.type]).toEqual([['response.created', 'response.in_progress'], 'response.completed']);
  });

  it('[O-04] receives response.failed where the model server refuses after the opening, and an error before', async () => {
    const socket = await startSocketApp(SOON);
    more.push(socket.close);
    const goOn = gate();
    socket.fake.reply(async () => {
      await goOn.opened;
      return NO_CREDIT(402);
    });
    const talk = await socket.connect();
    talk.create();
    const first = (await talk.next()).type;
    goOn.open();
    const rest = await talk.response();
    expect([first, rest.at(-1)?.type]).toEqual(['response.created', 'response.failed']);
  });
});
