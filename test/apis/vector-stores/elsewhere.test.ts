/** The tool `file_search` behind everything else that takes tools: chat completions, the Messages API, WebSocket and guards. */

import express from 'express';
import { chatCompletionsRouter, chatCompletionsUpstream, messagesRouter, responsesRouter } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { calls, chatBody, says } from '../../engine/tools/support.ts';
import { startSocketApp } from '../../hosts/websocket/support.ts';
import { listening } from '../../support/listening.ts';
import { fileId, SCOPE, storeId, storesWith } from './filled-stores.ts';

const FILE = fileId('1');
const STORE = storeId('1');
const CATS = 'Cats purr when they are content. Ask anna@example.com about them.';
const MARK = '【a1b2c1†cats.md】';
const TOOL = { type: 'file_search', vector_store_ids: [STORE] };

const searches = () => calls(['call_0', 'file_search', JSON.stringify({ queries: ['cats purr'] })]);

let search: Awaited<ReturnType<typeof storesWith>>;
beforeAll(async () => {
  search = await storesWith({ 1: { name: 'cats.md', text: CATS } });
});
afterAll(() => search.close());

async function withRouters(
  run: (url: string, fake: Awaited<ReturnType<typeof startFakeUpstream>>) => Promise<void>,
  more: JsonObject = {},
) {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const options = { upstream, tools: search.tools, scope: () => SCOPE, logger: false as const, ...more };
  const app = await listening(
    express().use('/v1', responsesRouter(options), chatCompletionsRouter(options), messagesRouter(options)),
  );
  try {
    await run(`${app.url}/v1`, fake);
  } finally {
    await Promise.all([app.close(), upstream.close?.(), fake.close()]);
  }
}

async function post(url: string, body: JsonObject) {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ model: 'm', ...body }) });
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  return { status: answer.status, json: (await answer.json()) as any };
}

const messages = [{ role: 'user', content: 'What do cats do?' }];

describe('a search in files', () => {
  it('[X-14] is hidden in chat completions, where marks stay in the text', () =>
    withRouters(async (url, fake) => {
      fake.reply(searches(), says(`They purr${MARK}.`));
      const { json } = await post(`${url}/chat/completions`, { messages, tools: [TOOL] });
      expect(json.choices[0].message).toMatchObject({ content: `They purr${MARK}.` });
      expect(fake.requests.map(chatBody).at(-1)?.messages.at(-1)).toMatchObject({
        role: 'tool',
        content: `${MARK}\n${CATS}`,
      });
      const unknown = { ...TOOL, vector_store_ids: [`vs_${'2'.repeat(32)}`] };
      const refused = await post(`${url}/chat/completions`, { messages, tools: [unknown] });
      expect([refused.status, refused.json.error.code]).toEqual([404, 'vector_store_not_found']);
    }));

  it('[X-14] is not a tool of the Messages API, which has no form for it', () =>
    withRouters(async (url, fake) => {
      fake.reply(says('Hello.'));
      const { json } = await post(`${url}/messages`, { messages, max_tokens: 100 });
      expect(json.content).toEqual([{ type: 'text', text: 'Hello.' }]);
      expect(fake.requests.map(chatBody).at(-1)?.tools).toBeUndefined();
    }));

  it('[X-14] is read by guards before the model and the client receive it', () =>
    withRouters(
      async (url, fake) => {
        fake.reply(searches(), says('Done.'));
        const include = ['file_search_call.results'];
        const { json } = await post(`${url}/responses`, { input: 'Whom?', tools: [TOOL], include });
        const sentToModel = JSON.stringify(fake.requests.map(chatBody).at(-1));
        const shown = JSON.stringify(json);
        expect([sentToModel, shown].map((text) => [text.includes('cats.md'), text.includes('anna@')])).toEqual([
          [true, false],
          [true, false],
        ]);
      },
      { guards: { tools: [pii({ kinds: ['email'] })] } },
    ));

  it('[X-14] runs over WebSocket, and is remembered where nothing is stored', async () => {
    const app = await startSocketApp({ tools: search.tools, authorize: () => ({ scope: SCOPE }) });
    try {
      app.fake.reply(searches(), says(`They purr${MARK}.`), says(`Again${MARK}.`));
      const talk = await app.connect();
      const asking = { tools: [TOOL], include: ['file_search_call.results'] };
      const first = (await talk.ask({ ...asking, store: false })).at(-1)?.response as JsonObject;
      const cited = { annotations: [{ type: 'file_citation', file_id: FILE, index: 9 }] };
      expect(first.output).toMatchObject([
        { type: 'file_search_call', results: [{ text: CATS }] },
        { content: [{ text: 'They purr.', ...cited }] },
      ]);
      const next = (await talk.ask({ ...asking, store: false, previous_response_id: first.id })).at(-1)
        ?.response as JsonObject;
      expect(next.output).toMatchObject([{ content: [{ text: 'Again.', annotations: [{ file_id: FILE }] }] }]);
    } finally {
      await app.close();
    }
  });
});
