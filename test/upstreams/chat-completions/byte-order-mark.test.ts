/** Some servers begin an answer with a byte order mark, which is no JSON. */
import express from 'express';
import { chatCompletionsUpstream, functionTools, openResponses } from '../../../src/index.ts';
import { chatCompletion, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';

const MESSAGES = [{ role: 'user', content: 'Hi' }];

describe.each(['without tools', 'with tools of the server'])(
  'an answer in JSON that begins with a byte order mark, %s',
  (kind) => {
    it.each([
      ['/responses', { input: 'Hi' }],
      ['/chat/completions', { messages: MESSAGES }],
      ['/messages', { messages: MESSAGES, max_tokens: 9 }],
    ])('is read by %s', async (path, body) => {
      const text = `\ufeff${chatCompletion('Hello')}`;
      const model = await startFakeUpstream({ reply: { body: text, headers: { 'content-type': 'application/json' } } });
      const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key' });
      const tools = kind === 'without tools' ? [] : [functionTools({ echo: { parameters: {}, execute: () => '' } })];
      const app = await listening(express().use(openResponses({ upstream, tools, logger: false }).router));
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(app.url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'm', ...body }),
      });
      const answered = await answer.text();
      await app.close();
      await model.close();
      expect(answered).toContain('Hello');
      expect(() => JSON.parse(answered)).not.toThrow();
    });
  },
);
