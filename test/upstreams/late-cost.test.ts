/** The cost of an answer that stands beside its usage, also behind the end marker of the stream. */
import express from 'express';
import {
  type ChatCompletionsOptions,
  chatCompletionsRouter,
  chatCompletionsUpstream,
  type ResponseInfo,
} from '../../src/index.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { type FakeAnswer, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { findProvider } from '../../src/upstreams/chat-completions/providers.ts';
import { listening } from '../support/listening.ts';
import { completion, deltaChunk, jsonBody } from '../support/provider-app.ts';
import { eventStream } from '../support/replay.ts';
import { describeShared, readShared } from '../support/shared.ts';

let fake: FakeUpstream;
beforeEach(async () => {
  fake = await startFakeUpstream();
});
afterEach(() => fake.close());

const limits = {
  firstByteTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  eventBytes: 1e6,
  outputBytes: 1e6,
  toolIterations: 5,
};
const CALL = { signal: new AbortController().signal, headers: new Headers(), limits, note: () => {} };

const USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
const said = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const ANSWER = said(deltaChunk({ content: 'Hi.' }, { usage: USAGE }, { finish_reason: 'stop' }));
const DONE = 'data: [DONE]\n\n';
const COST = said({ id: '', object: 'chat.completion.chunk', created: 0, model: '', choices: [], cost: '0.0125' });

async function answered(reply: FakeAnswer, options: ChatCompletionsOptions = {}) {
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '', retries: 0, ...options });
  fake.reply(reply);
  const events: ModelEvent[] = [];
  for await (const batch of upstream.stream({ model: 'm', items: [], tools: [] }, CALL)) events.push(...batch);
  await upstream.close();
  const text = events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
  const usage = events.findLast((event) => event.type === 'usage');
  return { text, cost: usage?.cost, tokens: usage?.usage.total_tokens, last: events.at(-1)?.type };
}

const WHOLE = { text: 'Hi.', cost: 0.0125, tokens: 8, last: 'finish' };

describe('the cost beside the usage', () => {
  it.each([
    [
      'in a whole answer',
      jsonBody(completion({ content: 'Hi.' }, { usage: USAGE, cost: '0.0125' }, { finish_reason: 'stop' })),
    ],
    [
      'in dollars, of several currencies',
      jsonBody(
        completion({ content: 'Hi.' }, { usage: USAGE, cost: { diem: 0, usd: 0.0125 } }, { finish_reason: 'stop' }),
      ),
    ],
    ['in a chunk of its own', eventStream([ANSWER, COST, DONE])],
    ['in a chunk before the usage', eventStream([COST, ANSWER, DONE])],
    ['behind the end marker', eventStream(ANSWER + DONE + COST)],
    ['behind the end marker and other remarks', eventStream(`${ANSWER}${DONE}: bye\n\n${COST}${DONE}`)],
  ])('[V-40] is read %s', async (_where, reply) => {
    expect(await answered(reply)).toEqual(WHOLE);
  });

  it('[V-40] is all that is read behind the end marker', async () => {
    const more = `${said(deltaChunk({ content: ' And more.' }))}${said({ error: { message: 'Late.' } })}data: {\n\n`;
    expect(await answered(eventStream(ANSWER + DONE + more + COST))).toEqual(WHOLE);
    expect(await answered(eventStream(ANSWER + DONE + said({ choices: [], cost: 'free' })))).toEqual({
      ...WHOLE,
      cost: undefined,
    });
  });

  it('[V-40] is waited for where the server is known to send it late', async () => {
    const reply = { ...eventStream([ANSWER + DONE, COST]), paceMs: 20 };
    expect(await answered(reply, { costAfterDone: true })).toEqual(WHOLE);
    expect(await answered(reply)).toEqual({ ...WHOLE, cost: undefined });
    expect(findProvider('auto', new URL('https://opencode.ai/zen/v1')).costAfterDone).toBe(true);
  });

  it('[V-40] does not keep an answer from its end: no server, and no broken connection', async () => {
    const reply = eventStream(ANSWER + DONE);
    for (const flaw of [{}, { stallAfterBytes: 1e6 }, { cutAfterBytes: Buffer.byteLength(ANSWER + DONE) }])
      expect(await answered({ ...reply, ...flaw }, { costAfterDone: true })).toEqual({ ...WHOLE, cost: undefined });
  });

  it('[V-40] reaches the host and the client of Chat Completions', async () => {
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: '', retries: 0 });
    const costs: unknown[] = [];
    const hooks = { onResponse: ({ cost }: ResponseInfo) => void costs.push(cost) };
    const router = chatCompletionsRouter({ upstream, logger: false, hooks });
    const app = await listening(express().use('/v1', router));
    const whole = completion({ content: 'Hi.' }, { usage: USAGE, cost: 0.0125 }, { finish_reason: 'stop' });
    for (const [stream, reply] of [
      [true, eventStream(ANSWER + DONE + COST)],
      [false, jsonBody(whole)],
    ] as const) {
      fake.reply(reply);
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi?' }], stream });
      const headers = { 'content-type': 'application/json' };
      const text = await (await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
      expect([text.includes('"cost":'), text.endsWith(DONE)]).toEqual([true, stream]);
    }
    expect(costs).toEqual([0.0125, 0.0125]);
    await Promise.all([app.close(), upstream.close()]);
  });
});

describeShared('a recorded cost', () => {
  it('[V-40] behind the end marker is read', async () => {
    const body = readShared('recordings/outside/R12-cost-after-done.sse');
    expect(await answered(eventStream(body.replace('"cost":"0"', '"cost":"0.5"')))).toMatchObject({
      cost: 0.5,
      last: 'finish',
    });
  });
});
