/** Web search behind everything else that takes tools: chat completions, middlewares, WebSocket, the background, other model servers and dialects. */

import express from 'express';
import { chatCompletionsUpstream, injectTools, memoryStore, responsesRouter } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { ask, startChatApp } from '../../apis/chat-completions/chat-app.ts';
import { ask as askIn, NAMES, withDialect } from '../../apis/dialects/support.ts';
import { chatBody, says, withTools } from '../../engine/tools/support.ts';
import { startSocketApp } from '../../hosts/websocket/support.ts';
import { listening } from '../../support/listening.ts';
import { openaiClient, post } from '../../support/responses-client.ts';
import { startMessagesApp, streamOf } from '../../upstreams/messages-app.ts';
import { messagesStream, textBlock, toolBlock } from '../../upstreams/messages-bytes.ts';
import { ASKING, INCLUDING, PAGES, SENT_RESULTS, searches, searching } from './support.ts';

const OWN = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };
const ITEM = {
  type: 'web_search_call',
  status: 'completed',
  action: { type: 'search', query: 'pages' },
  results: PAGES,
};

describe('chat completions', () => {
  it.each([true, false])(
    '[B-41] search where the body asks for it, on its terms, which the model server never sees; stream: %s',
    async (stream) => {
      const { tools, asked } = searching();
      const app = await startChatApp({ tools });
      try {
        app.fake.reply(searches('pages'), says('Found.'));
        const tool = { type: 'web_search', filters: { allowed_domains: ['example.com'] } };
        const answer = await ask(app.url, { tools: [OWN, tool], stream });
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Found.')]);
        const requested = app.fake.requests.map(chatBody);
        expect(requested.map((body) => body.tools?.map(({ function: { name } }) => name))).toEqual(
          Array(2).fill(['look', 'web_search', 'open_page']),
        );
        const sentToModel = requested.at(-1)?.messages.filter(({ role }) => role === 'tool');
        expect([sentToModel?.map(({ content }) => content), asked[0]?.allowedDomains]).toEqual([
          ['[One](https://one.example.com/a)\nThe first page.'],
          ['example.com'],
        ]);
      } finally {
        await app.close();
      }
    },
  );
});

describe('middlewares', () => {
  it('[B-41] put the functions in the place of the tool, and a router behind them searches', async () => {
    const { tools } = searching();
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
    const router = responsesRouter({ upstream, store: memoryStore() });
    const app = await listening(express().use('/v1', injectTools({ tools }), router));
    try {
      fake.reply(searches('pages'), says('Found.'));
      const { text } = await post(`${app.url}/v1`, INCLUDING);
      expect(JSON.parse(text)).toMatchObject({ tools: ASKING.tools, output: [ITEM, { type: 'message' }] });
    } finally {
      await Promise.all([app.close(), upstream.close?.(), fake.close()]);
    }
  });
});

describe('WebSocket', () => {
  it('[B-41] searches, and remembers what was found, also where nothing is stored', async () => {
    const app = await startSocketApp({ tools: searching().tools });
    try {
      app.fake.reply(searches('pages'), says('https://one.example.com/a'), says('Again.'));
      const talk = await app.connect();
      const events = await talk.ask({ ...INCLUDING, store: false });
      const first = events.at(-1)?.response as JsonObject;
      await talk.ask({ ...ASKING, store: false, previous_response_id: first.id });
      const sentToModel = app.fake.requests
        .map(chatBody)
        .at(-1)
        ?.messages.filter(({ role }) => role === 'tool');
      expect([first.output, sentToModel?.map(({ content }) => content)]).toMatchObject([
        [ITEM, { content: [{ annotations: [{ title: 'One' }] }] }],
        [SENT_RESULTS],
      ]);
      expect(events.map(({ type }) => type)).toContain('response.web_search_call.searching');
    } finally {
      await app.close();
    }
  });
});

describe('the background', () => {
  it('[B-41] shows results to the readers that the request includes them for, however they follow', () =>
    withTools({ tools: searching().tools }, async ({ url, fake }) => {
      fake.reply(searches('pages'), says('https://two.example.org/b'));
      const { text } = await post(url, { ...ASKING, background: true, stream: true });
      const events = text
        .split('\n')
        .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
      const { response } = events.at(-1);
      const client = openaiClient(url);
      const include = ['web_search_call.results'] as unknown as ['web_search_call.action.sources'];
      const [plain, included] = [
        await client.responses.retrieve(response.id),
        await client.responses.retrieve(response.id, { include }),
      ];
      expect([response, plain, included].map(({ output }) => 'results' in output[0])).toEqual([false, false, true]);
      expect(plain.output[1]).toMatchObject({ content: [{ annotations: [{ url: 'https://two.example.org/b/' }] }] });
    }));
});

describe('anthropicUpstream', () => {
  it('[B-41] sends its model the searches, in the same response and in the next', async () => {
    const app = await startMessagesApp({}, { tools: searching().tools, scope: () => 'everyone' });
    const search = (id: string, query: string) =>
      streamOf(messagesStream([toolBlock(0, id, 'web_search', JSON.stringify({ query }))], { stop: 'tool_use' }));
    const answer = (text: string) => streamOf(messagesStream([textBlock(0, text)]));
    try {
      app.fake.reply(search('toolu_1', 'one'), answer('Set.'), search('toolu_2', 'two'), answer('42.'));
      const first = JSON.parse((await post(app.url, ASKING)).text);
      await post(app.url, { ...ASKING, previous_response_id: first.id });
      const last = JSON.stringify(app.fake.requests.at(-1)?.body);
      expect(last.match(/"tool_result"/g)?.length).toBe(2);
      expect(last).toContain('"name":"web_search","input":{"query":"one"}');
    } finally {
      await app.close();
    }
  });
});

describe('dialects', () => {
  it.each(NAMES)('[B-41] %s shows the search as OpenAI does', (name) =>
    withDialect(
      name,
      async ({ url, fake }) => {
        fake.reply(searches('pages'), says('https://one.example.com/a'));
        const { text } = await askIn(url, { body: { ...ASKING, stream: true } });
        const types = [...text.matchAll(/^data: \{"type":"response\.(web_search[^"]*)"/gm)].map(([, type]) => type);
        expect(types).toEqual([
          'web_search_call.in_progress',
          'web_search_call.searching',
          'web_search_call.completed',
        ]);
        expect(text).toContain('"type":"url_citation"');
      },
      { tools: searching().tools },
    ),
  );
});

describe('hooks.onToolCall', () => {
  it('[B-41] is called for each search', () =>
    withTools(
      { tools: searching(({ query }) => (query === 'bad' ? 'none' : PAGES)).tools },
      async ({ url, fake, toolCalls }) => {
        fake.reply(searches('pages'), searches('bad'), says('Done.'));
        await post(url, ASKING);
        expect(toolCalls).toMatchObject([
          { server: 'web_search', name: 'web_search', error: undefined },
          {
            server: 'web_search',
            name: 'web_search',
            error: 'The search engine did not answer with a list of results.',
          },
        ]);
      },
    ));
});
