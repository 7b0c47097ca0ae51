/** Counts of input tokens: by the model server where it can, else estimated, better with every answer. */

import express from 'express';
import { routedUpstream } from 'express-open-responses/routing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { chatCompletionsUpstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, type FakeUpstream, textStream } from '../../src/testing/index.ts';
import { listening } from '../support/listening.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';

let app: RequestApp;
const servers: (() => Promise<void>)[] = [];
afterEach(() => Promise.all(servers.splice(0).map((close) => close())));
const restart = requestAppPerTest((started) => {
  app = started;
});

async function counted(body: JsonObject): Promise<number> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake-model', ...body }),
  };
  const answer = await fetch(`${app.url}/responses/input_tokens`, init);
  expect(answer.status).toBe(200);
  return Number(((await answer.json()) as JsonObject).input_tokens);
}

/** An answer for which the server reports so many input tokens. */
function answerWith(input: number): { body: string } {
  const usage = { prompt_tokens: input, completion_tokens: 1, total_tokens: input + 1 };
  return {
    body: textStream('Yes.').replace(/data: [^\n]*"choices":\[\][^\n]*\n\n/, chatChunk({}, { choices: [], usage })),
  };
}

/** By paths of the model server; all others are 404. */
function serve(fake: FakeUpstream, answers: Readonly<Record<string, JsonObject>>): void {
  fake.reply(({ path }) => {
    const answer = answers[path.split('?')[0] ?? ''];
    return answer ? { body: JSON.stringify(answer) } : { status: 404, body: '{"error":{"message":"No."}}' };
  });
}

const GERMAN = 'Die Aufmerksamkeitsdefizitstörung der Verwaltungsvorschriften. '.repeat(40);

describe('an estimate', () => {
  it('[O-10] is calibrated by what the model server has reported', async () => {
    const before = await counted({ input: GERMAN });
    const truth = Math.round(before * 1.8);
    app.upstream.reply(answerWith(truth));
    await app.create({ input: GERMAN });
    const [same, twice] = [await counted({ input: GERMAN }), await counted({ input: GERMAN + GERMAN })];
    expect(Math.abs(same - truth)).toBeLessThanOrEqual(1);
    expect(twice / same).toBeCloseTo(2, 0);
  });

  it('[O-10] is calibrated for each model by itself', async () => {
    const before = await counted({ input: GERMAN });
    app.upstream.reply(answerWith(before * 2));
    await app.create({ input: GERMAN });
    expect(await counted({ input: GERMAN, model: 'other-model' })).toBe(before);
  });

  it('[O-10] of a long request does not multiply the template of a short one', async () => {
    const before = await counted({ input: GERMAN });
    app.upstream.reply(answerWith(60));
    await app.create({ input: 'Hi' });
    const after = await counted({ input: GERMAN });
    expect(after).toBeGreaterThanOrEqual(before);
    expect(after).toBeLessThan(before * 1.5);
  });

  it('[O-10] is not ruined by counts that cannot be', async () => {
    const before = await counted({ input: GERMAN });
    app.upstream.reply(answerWith(1e9), answerWith(0), answerWith(1));
    await app.create({ input: GERMAN });
    expect(await counted({ input: GERMAN })).toBeLessThanOrEqual(before * 8);
    await app.create({ input: GERMAN });
    await app.create({ input: GERMAN });
    expect(await counted({ input: GERMAN })).toBeGreaterThanOrEqual(before / 4);
  });

  it('[O-10] gives way to the host’s own counter', async () => {
    await restart({ countTokens: (text) => text.length });
    const before = await counted({ input: GERMAN });
    app.upstream.reply(answerWith(7));
    await app.create({ input: GERMAN });
    expect(await counted({ input: GERMAN })).toBe(before);
  });
});

describe('a model server that counts', () => {
  /** One that is found by its list of models, and what it is asked. */
  async function found(owner: string, answers: Readonly<Record<string, JsonObject>>, own: object = {}) {
    const asked: { path: string; body: unknown }[] = [];
    const server = express().use(express.json());
    server.get('/v1/models', (_, response) => {
      asked.push({ path: '/v1/models', body: undefined });
      response.json({ data: [{ id: 'fake-model', owned_by: owner }] });
    });
    server.use(({ path, body }, response) => {
      asked.push({ path, body });
      if (answers[path]) response.json(answers[path]);
      else response.status(404).json({ error: { message: 'No.' } });
    });
    const { url, close } = await listening(server);
    servers.push(close);
    await restart({ chat: { baseURL: `${url}/v1` }, ...own });
    return asked;
  }

  it('[O-10] is vLLM, which is asked for the tokens of its template', async () => {
    const asked = await found('vllm', { '/tokenize': { count: 42, tokens: [1], max_model_len: 2048 } });
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
    expect([await counted({ input: 'Hello', tools }), await counted({ input: 'Hello' })]).toEqual([42, 42]);
    expect(asked.map(({ path }) => path)).toEqual(['/v1/models', '/tokenize', '/tokenize']);
    const messages = [{ role: 'user', content: 'Hello' }];
    expect(asked[1]?.body).toMatchObject({
      model: 'fake-model',
      messages,
      add_generation_prompt: true,
      tools: [{ function: { name: 'look' } }],
    });
  });

  it('[O-10] is not asked where the host counts itself', async () => {
    const answers = { '/tokenize': { count: 42, tokens: [1], max_model_len: 2048 } };
    const asked = await found('vllm', answers, { countTokens: (text: string) => text.length });
    expect(await counted({ input: GERMAN })).toBeGreaterThan(42);
    expect(asked.map(({ path }) => path)).not.toContain('/tokenize');
  });

  it('[O-10] is llama.cpp, by the whole request', async () => {
    const asked = await found('llamacpp', {
      '/v1/responses/input_tokens': { object: 'response.input_tokens', input_tokens: 13 },
    });
    expect(await counted({ input: 'Hello', instructions: 'Be brief.' })).toBe(13);
    const input = [{ type: 'message', role: 'user', content: expect.anything() }];
    expect(asked.at(-1)?.body).toEqual({ model: 'fake-model', instructions: 'Be brief.', input });
  });

  it('[O-10] is an older llama.cpp, by the text of its template', async () => {
    const asked = await found('llamacpp', {
      '/apply-template': { prompt: '<user>Hello' },
      '/tokenize': { tokens: [1, 2, 3] },
    });
    expect(await counted({ input: 'Hello' })).toBe(3);
    expect(asked.at(-1)?.body).toMatchObject({ content: '<user>Hello' });
  });

  it('[O-10] needs no look at the models where the provider is named', async () => {
    await restart({ chat: { provider: 'vllm' } });
    serve(app.upstream, { '/tokenize': { count: 42 } });
    expect(await counted({ input: 'Hello' })).toBe(42);
    expect(app.upstream.requests).toHaveLength(1);
  });

  it('[O-10] is Anthropic’s, which is asked with the fields that are input', async () => {
    const { baseURL } = app.upstream;
    const upstream = anthropicUpstream({ baseURL, apiKey: 'k', retries: 0 });
    const fake = app.upstream;
    serve(fake, { '/v1/messages/count_tokens': { input_tokens: 99 } });
    const { stream, countTokens } = upstream;
    const signal = AbortSignal.timeout(10_000);
    const limits = {
      firstByteTimeoutMs: 5000,
      idleTimeoutMs: 5000,
      eventBytes: 1e6,
      outputBytes: 1e6,
      toolIterations: 1,
    };
    const request = { model: 'claude', items: [{ type: 'message', role: 'user', content: 'Hello' }], tools: [] };
    expect(stream).toBeDefined();
    expect(await countTokens?.(request, { signal, headers: new Headers(), limits, note: () => {} })).toBe(99);
    expect(Object.keys(Object(fake.requests.at(-1)?.body))).toEqual(['model', 'messages']);
    await upstream.close?.();
  });

  it('[O-10] counts behind a router of models, by its own name for the model', async () => {
    const { baseURL } = app.upstream;
    const local = chatCompletionsUpstream({ baseURL, provider: 'vllm', retries: 0 });
    const fake = app.upstream;
    serve(fake, { '/tokenize': { count: 42 } });
    const routed = routedUpstream({ routes: { 'real-*': local }, aliases: { fast: 'real-1' } });
    const limits = {
      firstByteTimeoutMs: 5000,
      idleTimeoutMs: 5000,
      eventBytes: 1e6,
      outputBytes: 1e6,
      toolIterations: 1,
    };
    const call = { signal: AbortSignal.timeout(10_000), headers: new Headers(), limits, note: () => {} };
    const items = [{ type: 'message', role: 'user', content: 'Hello' }];
    expect(await routed.countTokens?.({ model: 'fast', items, tools: [] }, call)).toBe(42);
    expect(fake.requests.at(-1)?.body).toMatchObject({ model: 'real-1' });
    await routed.close?.();
  });

  it.each([
    ['answers 404', {}],
    ['answers nonsense', { '/tokenize': { count: -1 } }],
  ])('[O-10] is not needed: the tokens are estimated where it %s', async (_, answers) => {
    await restart({ chat: { provider: 'vllm' } });
    serve(app.upstream, answers);
    expect(await counted({ input: GERMAN })).toBeGreaterThan(100);
  });
});

describe('the threshold of compaction', () => {
  const LONG = { input: 'Hello. '.repeat(100), context_management: [{ type: 'compaction', compact_threshold: 4000 }] };

  it('[O-09] is compared with what the model server has reported', async () => {
    app.upstream.reply(answerWith(6554), { body: textStream('A summary.') });
    const { output } = (await app.create(LONG)).body;
    expect(output.map(({ type }) => type)).toEqual(['message', 'compaction']);
  });

  it('[O-09] is not reached by what neither reports nor estimates reach', async () => {
    app.upstream.reply(answerWith(3999));
    expect((await app.create(LONG)).body.output.map(({ type }) => type)).toEqual(['message']);
  });
});
