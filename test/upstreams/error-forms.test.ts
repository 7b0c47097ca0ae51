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
import { type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
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
