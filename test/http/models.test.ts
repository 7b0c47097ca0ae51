/** One model, on every router, in the words of the client's own API. */
import express from 'express';
import { chatCompletionsRouter, chatCompletionsUpstream, messagesRouter, responsesRouter } from '../../src/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { listening } from '../support/listening.ts';

let fake: FakeUpstream;
const NAME = 'org/fake model';
const LONG = 'accounts/fireworks/models/llama';
beforeAll(async () => {
  fake = await startFakeUpstream({ models: ['fake-model', NAME, LONG, 'a/b/c'] });
});
afterAll(() => fake.close());

const ANTHROPIC = { 'anthropic-version': '2023-06-01' };

describe.each([
  ['responsesRouter', responsesRouter],
  ['chatCompletionsRouter', chatCompletionsRouter],
  ['messagesRouter', messagesRouter],
] as const)('%s', (_, router) => {
  async function got(path: string, headers: Readonly<Record<string, string>> = {}) {
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
    const { url, close } = await listening(express().use('/v1', router({ upstream })));
    try {
      const answer = await fetch(`${url}/v1/models/${path}`, { headers });
      return [answer.status, await answer.json()] as const;
    } finally {
      await close();
      await upstream.close();
    }
  }

  it('[K-07] serves one model', async () => {
    expect(await got('fake-model')).toMatchObject([200, { id: 'fake-model', object: 'model' }]);
    expect(await got('fake-model', ANTHROPIC)).toMatchObject([200, { id: 'fake-model', type: 'model' }]);
  });

  it('[K-07] finds a name with a slash, encoded or not', async () => {
    expect(await got(encodeURIComponent(NAME))).toMatchObject([200, { id: NAME }]);
    for (const name of [NAME, LONG, 'a/b/c']) expect(await got(name)).toMatchObject([200, { id: name }]);
    expect(await got(LONG, ANTHROPIC)).toMatchObject([200, { id: LONG, type: 'model' }]);
  });

  it('[K-07] answers 404 for another, in the words of the client', async () => {
    expect(await got('none')).toMatchObject([
      404,
      { error: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' } },
    ]);
    expect(await got('none', ANTHROPIC)).toMatchObject([404, { type: 'error', error: { type: 'not_found_error' } }]);
  });
});
