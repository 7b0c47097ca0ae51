/** Pages that Anthropic's own server has fetched, through the items of this server and back. */
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { functionTools, type Guard } from '../../../src/index.ts';
import { streamOf } from '../../upstreams/messages-app.ts';
import { block, messagesStream, textBlock } from '../../upstreams/messages-bytes.ts';
import { askEvents, askJson, type MessagesApp, startMessages, USER } from './messages-app.ts';

const URL = 'https://a.example/paper.pdf';
const ID = 'srvtoolu_01SCw66CVHHhqvHhRgxbXoj4';
const TOOLS = [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2 }];
const USE = { type: 'server_tool_use', id: ID, name: 'web_fetch', input: { url: URL } };
const DOCUMENT = {
  type: 'web_fetch_result',
  url: URL,
  retrieved_at: '2025-09-29T07:28:57.560000+00:00',
  content: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Owls.' }, title: null },
};
const FAILURE = { type: 'web_fetch_tool_result_error', error_code: 'url_not_accessible' };

let app: MessagesApp;
afterEach(() => app.close());

async function start(guards?: { readonly output: readonly Guard[] }): Promise<void> {
  // A tool of this server, so that the answers are not passed on byte for byte.
  const tools = functionTools({ look: { parameters: {}, execute: () => 'Sun' } });
  app = await startMessages(({ baseURL }) => ({
    tools,
    upstream: anthropicUpstream({ baseURL, apiKey: 'k', retries: 0, serverTools: TOOLS }),
    ...(guards ? { guards } : {}),
  }));
}

const fetched = (content: object) =>
  streamOf(
    messagesStream([
      textBlock(0, 'I look.'),
      block(1, { ...USE, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(USE.input) }),
      block(2, { type: 'web_fetch_tool_result', tool_use_id: ID, content }),
      textBlock(3, 'Owls, it says.'),
    ]),
  );
const DONE = streamOf(messagesStream([textBlock(0, 'Done.')]));

it.each([
  ['a document', DOCUMENT],
  ['an error', FAILURE],
])('[V-38] are shown and sent back as they came: %s', async (_, content) => {
  await start();
  app.fake.reply(fetched(content), DONE);
  const { body } = await askJson(app.url);
  const result = { type: 'web_fetch_tool_result', tool_use_id: ID, content };
  expect(body.content.slice(1, 3)).toEqual([USE, result]);
  await askJson(app.url, { messages: [USER, { role: 'assistant', content: body.content }, USER] });
  const { messages } = (app.fake.requests.at(-1)?.body ?? {}) as {
    messages: { role: string; content: object[] }[];
  };
  expect(messages[1]?.content.slice(1, 3)).toEqual([USE, result]);
  expect(JSON.stringify(messages)).not.toContain('open_page');
});

it('[V-38] are the same in a stream', async () => {
  await start();
  app.fake.reply(fetched(DOCUMENT));
  const events = await askEvents(app.url, { stream: true });
  const blocks = events.flatMap(({ content_block: shown }) => (shown ? [shown] : []));
  expect(blocks).toContainEqual({ type: 'web_fetch_tool_result', tool_use_id: ID, content: DOCUMENT });
});

it('[V-38] [G-05] are not shown where guards of the output have not read them', async () => {
  const guard: Guard = { name: 'all', inspect: () => ({ action: 'pass' }) };
  await start({ output: [guard] });
  app.fake.reply(fetched(DOCUMENT));
  expect(JSON.stringify((await askJson(app.url)).body.content)).not.toContain('"Owls."');
});
