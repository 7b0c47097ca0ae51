/** Pages that Anthropic's own server has fetched, through the items of this server and back. */

import { balanced } from 'express-open-responses/routing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { functionTools, type Guard } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
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

/** The blocks of the fetch in the last request to the model server. */
function sentBack(): readonly object[] | undefined {
  // The cast: what is sent there is a request of the Messages API.
  const { messages } = (app.fake.requests.at(-1)?.body ?? { messages: [] }) as {
    readonly messages: { readonly content: object[] }[];
  };
  return messages[1]?.content.slice(1, 3);
}

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
  expect(sentBack()).toEqual([USE, result]);
  expect(JSON.stringify(app.fake.requests.at(-1)?.body)).not.toContain('open_page');
});

it('[V-38] are the same in a stream', async () => {
  await start();
  app.fake.reply(fetched(DOCUMENT));
  const events = await askEvents(app.url, { stream: true });
  const blocks = events.flatMap(({ content_block: shown }) => (shown ? [shown] : []));
  expect(blocks).toContainEqual({ type: 'web_fetch_tool_result', tool_use_id: ID, content: DOCUMENT });
});

describe('behind guards of the output', () => {
  const SECRET = { ...DOCUMENT, content: { ...DOCUMENT.content, title: 'Of bob@example.com' } };
  const guarded = JSON.parse(JSON.stringify(SECRET).replace('bob@example.com', '[EMAIL]'));

  it.each([
    ['a document', SECRET, guarded],
    ['an error', FAILURE, FAILURE],
  ])('[V-38] [G-05] are shown as the guards leave them, and go back: %s', async (_, content, shown) => {
    await start({ output: [pii()] });
    app.fake.reply(fetched(content), DONE);
    const { body } = await askJson(app.url);
    const result = { type: 'web_fetch_tool_result', tool_use_id: ID, content: shown };
    expect(body.content.slice(1, 3)).toEqual([USE, result]);
    await askJson(app.url, { messages: [USER, { role: 'assistant', content: body.content }, USER] });
    expect(sentBack()).toEqual([USE, result]);
  });

  it('[V-38] [G-05] are shown in a stream as the guards leave them', async () => {
    await start({ output: [pii()] });
    app.fake.reply(fetched(SECRET));
    const events = JSON.stringify(await askEvents(app.url, { stream: true }));
    expect([events.includes('bob@'), events.includes('Of [EMAIL]'), events.includes('"Owls."')]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('[V-38] [G-05] are withheld with a text that a guard blocks', async () => {
    const noOwls: Guard = {
      name: 'no owls',
      inspect: ({ text }) => (text === 'Owls.' ? { action: 'block', reason: 'No.' } : { action: 'pass' }),
    };
    await start({ output: [noOwls] });
    app.fake.reply(fetched(DOCUMENT));
    const { body } = await askJson(app.url);
    expect([JSON.stringify(body).includes('"Owls."'), body.stop_reason]).toEqual([false, 'refusal']);
  });
});

it.each([
  ['a document', DOCUMENT],
  ['an error', FAILURE],
])('[V-38] are shown and sent back as they came by a pool of servers: %s', async (_, content) => {
  const tools = functionTools({ look: { parameters: {}, execute: () => 'Sun' } });
  app = await startMessages(({ baseURL }) => {
    const server = () => anthropicUpstream({ baseURL, apiKey: 'k', retries: 0, serverTools: TOOLS });
    return { tools, upstream: balanced([server(), server()], { by: 'round-robin' }) };
  });
  app.fake.reply(fetched(content), DONE);
  const { body } = await askJson(app.url);
  const result = { type: 'web_fetch_tool_result', tool_use_id: ID, content };
  expect(body.content.slice(1, 3)).toEqual([USE, result]);
  await askJson(app.url, { messages: [USER, { role: 'assistant', content: body.content }, USER] });
  expect(sentBack()).toEqual([USE, result]);
});
