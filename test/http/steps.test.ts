/** The life of a request as its host may watch it: a debug line for each step, and nothing where nobody reads them. */

import { jest } from '@jest/globals';
import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  type RouterOptions,
  responsesRouter,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { listening } from '../support/listening.ts';
import { ask } from './client.ts';

let fake: FakeUpstream;
let lines: (readonly [level: string, message: string, fields: JsonObject])[] = [];
let debugs = true;
let close = async () => {};

const at = (level: string) => (message: string, fields: JsonObject) => void lines.push([level, message, fields]);
const logger = {
  debug: jest.fn(at('debug')),
  info: at('info'),
  warn: at('warn'),
  error: at('error'),
  isLevelEnabled: (level: string) => level !== 'debug' || debugs,
};

beforeEach(async () => {
  fake = await startFakeUpstream();
  lines = [];
  debugs = true;
  logger.debug.mockClear();
});

afterEach(async () => {
  await close();
  await fake.close();
});

/** Both routers on one app; the times of the steps are left out of what they log. */
async function start(options: RouterOptions = {}): Promise<string> {
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key' });
  const all = { upstream, store: memoryStore(), logger, ...options };
  const host = await listening(express().use('/v1', responsesRouter(all), chatCompletionsRouter(all)));
  close = async () => {
    await host.close();
    await upstream.close?.();
  };
  return `${host.url}/v1`;
}

/** The steps of the request, with what is known of each besides its id and its time. */
function stepsOf(requestId: string): readonly (readonly [string, JsonObject])[] {
  return lines
    .filter(([level, , fields]) => level === 'debug' && fields.requestId === requestId)
    .map(([, message, { requestId: _, ms, ...facts }]) => {
      if (ms !== undefined && !(typeof ms === 'number' && ms >= 0 && ms < 60_000)) throw new Error(`ms is ${ms}`);
      return [message, facts];
    });
}

const id = (requestId: string) => ({ headers: { 'x-request-id': requestId, authorization: 'Bearer client-key' } });
const tools = functionTools({ time: { description: 'The time.', execute: () => 'secret-result' } });

describe('the steps of a request', () => {
  it('are logged in order: a stream that continues another and runs a tool', async () => {
    const url = await start({ tools });
    fake.reply({ body: textStream('Hello.') });
    const first = (await (await ask(url, { input: 'secret-prompt' }, id('one'))).json()) as { readonly id: string };
    const call = { id: 'c1', name: 'time', arguments: '{"zone":"secret-argument"}' };
    fake.reply({ status: 503, body: '{}', headers: { 'retry-after': '0' } });
    fake.reply({ body: toolCallStream([call]) }, { body: textStream('secret-answer') });
    const body = { stream: true, previous_response_id: first.id, input: 'secret-question' };
    await (await ask(url, body, id('two'))).text();
    const host = new URL(fake.baseURL).host;
    expect(stepsOf('two')).toEqual([
      ['request received', { endpoint: 'POST /responses', model: 'm', stream: true }],
      ['history loaded', { items: 2 }],
      ['upstream asked', { host, attempt: 1 }],
      ['upstream asked', { host, attempt: 2, after: 'upstream_unavailable' }],
      ['first output', {}],
      ['answered', { status: 200 }],
      ['tool called', { tool: 'time', server: 'functions', ok: true }],
      ['upstream asked', { host, attempt: 1 }],
      ['first output', {}],
      ['stored', {}],
      [
        'ended',
        { responseId: expect.stringMatching(/^resp_/), status: 'completed', inputTokens: 18, outputTokens: 24 },
      ],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/secret|client-key|upstream-key/);
  });

  it('are logged in order: a chat completion', async () => {
    const url = await start();
    fake.reply({ body: textStream('Hi.') });
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'chat' },
      body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await response.text();
    expect(stepsOf('chat').map(([step]) => step)).toEqual([
      'request received',
      'upstream asked',
      'first output',
      'answered',
      'ended',
    ]);
  });

  it('end with the code of a refusal', async () => {
    const url = await start();
    await (await ask(url, { previous_response_id: `resp_${'0'.repeat(48)}` }, id('lost'))).text();
    expect(stepsOf('lost')).toEqual([
      ['request received', { endpoint: 'POST /responses', model: 'm', stream: false }],
      ['failed', { code: 'previous_response_not_found', status: 400 }],
      ['answered', { status: 400 }],
    ]);
  });

  it('name the endpoint and never the path, which holds ids of the tenant', async () => {
    const url = await start();
    const missing = `resp_${'0'.repeat(48)}`;
    await (await fetch(`${url}/responses/${missing}`, id('get'))).text();
    expect(stepsOf('get')[0]).toEqual([
      'request received',
      { endpoint: 'GET /responses/:id', model: undefined, stream: false },
    ]);
    expect(JSON.stringify(lines)).not.toContain(missing);
  });

  it('show at most 128 characters of what a client calls a model', async () => {
    const url = await start();
    await (await ask(url, { model: 'm'.repeat(100_000) }, id('long'))).text();
    expect(String(stepsOf('long')[0]?.[1].model)).toHaveLength(128);
  });
});

describe('where the logger wants no debug lines', () => {
  it('no step is made', async () => {
    debugs = false;
    const url = await start({ tools });
    fake.reply({ body: textStream('Hello.') });
    await (await ask(url, { stream: true }, id('quiet'))).text();
    expect([logger.debug.mock.calls, lines.map(([level]) => level)]).toEqual([[], ['info']]);
  });

  it('a changed level counts from the next request on', async () => {
    debugs = false;
    const url = await start();
    await (await ask(url, {}, id('before'))).text();
    debugs = true;
    await (await ask(url, {}, id('after'))).text();
    expect([stepsOf('before').length, stepsOf('after').length > 4]).toEqual([0, true]);
  });
});

describe('the first request of a router', () => {
  it('is announced with what serves it, once, and without path, query or key', async () => {
    const upstream = chatCompletionsUpstream({ baseURL: `${fake.baseURL}/secret-path?key=secret`, apiKey: 'secret' });
    debugs = false;
    const url = await start({ upstream, tools: [tools, functionTools({})] });
    const before = lines.length;
    for (let times = 0; times < 2; times += 1) await (await ask(url, {}, id('r'))).text();
    await upstream.close?.();
    const announced = lines.filter(([level]) => level === 'info');
    expect([before, announced]).toEqual([
      0,
      [
        [
          'info',
          'express-open-responses serves its first request.',
          {
            version: '0.1.0',
            router: 'responsesRouter',
            upstream: 'chat-completions',
            origin: new URL(fake.baseURL).origin,
            store: 'memory',
            tenantBy: 'authorization|x-api-key|api-key',
            toolProviders: 2,
            mcpServers: 0,
          },
        ],
      ],
    ]);
  });
});
