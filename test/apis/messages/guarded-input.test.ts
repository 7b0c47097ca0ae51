/** What guards of the input read of a Messages request, wherever its model server has it from. */

import express from 'express';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import {
  functionTools,
  type Guard,
  type GuardInfo,
  guard,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
} from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { streamOf } from '../../upstreams/messages-app.ts';
import { messageStart, messagesEvent, messagesStream, textBlock } from '../../upstreams/messages-bytes.ts';
import { ask, askEvents, askJson, lastBody, type MessagesApp, startMessages, USER } from './messages-app.ts';

const MAIL = 'bob@example.com';
const DONE = streamOf(messagesStream([textBlock(0, 'Done.')]));
const COUNT = { body: '{"input_tokens":7}', headers: { 'content-type': 'application/json' } };
const tools = functionTools({ look: { parameters: {}, execute: () => 'Sun' } });

let app: MessagesApp;
afterEach(() => app.close());

async function start(options: RouterOptions): Promise<void> {
  app = await startMessages(({ baseURL }) => ({
    upstream: anthropicUpstream({ baseURL, apiKey: 'k', retries: 0 }),
    logger: false,
    ...options,
  }));
}

const thought = (thinking: string, signature = 'c2ln') => ({ type: 'thinking', thinking, signature });
const use = (name: string, input: object) => ({ type: 'server_tool_use', id: 'srvtoolu_1', name, input });
const result = (type: string, content: unknown) => ({ type, tool_use_id: 'srvtoolu_1', content });
const page = {
  type: 'web_search_result',
  title: 'T',
  url: 'https://a.example',
  encrypted_content: 'YWJj',
  page_age: '',
};
const search = (query: string, more: object = {}) => [
  use('web_search', { query }),
  result('web_search_tool_result', [{ ...page, ...more }]),
];
const fetched = (document: object) => [
  use('web_fetch', { url: 'https://a.example' }),
  result('web_fetch_tool_result', {
    type: 'web_fetch_result',
    url: 'https://a.example',
    content: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Owls.' }, ...document },
  }),
];
const source = { type: 'text', media_type: 'text/plain', data: `Of ${MAIL}` };

const BLOCKS: readonly (readonly [what: string, blocks: readonly object[], place: string])[] = [
  ['a thought', [thought(`Of ${MAIL}.`)], 'messages[1].content[0].thinking'],
  ['the signature of a thought', [thought('Hm.', MAIL)], 'messages[1].content[0].signature'],
  ['the data of a thought', [{ type: 'redacted_thinking', data: MAIL }], 'messages[1].content[0].data'],
  ['a query', search(MAIL), 'messages[1].content[0].input'],
  ['the title of a page', search('q', { title: MAIL }), 'messages[1].content[1].content[0].title'],
  ['the address of a page', search('q', { url: `https://a.example/${MAIL}` }), 'messages[1].content[1].content[0].url'],
  ['the age of a page', search('q', { page_age: MAIL }), 'messages[1].content[1].content[0].page_age'],
  ['a field that nobody knows', search('q', { more: { of: MAIL } }), 'messages[1].content[1].content[0].more'],
  ['a document', fetched({ source }), 'messages[1].content[1].content.content.source.data'],
  ['the title of a document', fetched({ title: MAIL }), 'messages[1].content[1].content.content.title'],
];

const asked = (blocks: readonly object[]): JsonObject => ({
  messages: [USER, { role: 'assistant', content: [...blocks, { type: 'text', text: 'Ok.' }] }, USER],
});
/** The blocks of the assistant that the model server received. */
const received = () => (lastBody(app).messages[1]?.content ?? []) as readonly JsonObject[];
const sent = () => JSON.stringify(lastBody(app));

const noMail: Guard = {
  name: 'no-mail',
  inspect: ({ text }) =>
    text.includes(MAIL) ? { action: 'block', reason: 'It is an address.', rule: 'MAIL' } : { action: 'pass' },
};

describe.each([
  ['with tools of this server', { tools }],
  ['without', {}],
])('[G-05] blocks that go back to the server of Anthropic that wrote them, %s,', (_, options) => {
  it.each(BLOCKS)('are read, in JSON and streamed: %s', async (_what, blocks, place) => {
    const reports: GuardInfo[] = [];
    await start({ ...options, guards: { input: [pii()] }, hooks: { onGuard: (info) => void reports.push(info) } });
    app.fake.reply(DONE, DONE);
    expect((await askJson(app.url, asked(blocks))).status).toBe(200);
    expect(sent()).not.toContain(MAIL);
    await askEvents(app.url, asked(blocks));
    expect(sent()).not.toContain(MAIL);
    expect(reports).toMatchObject([
      { rule: 'EMAIL', place },
      { rule: 'EMAIL', place },
    ]);
  });

  it.each(BLOCKS)('are refused, and none is sent: %s', async (_what, blocks, place) => {
    await start({ ...options, guards: { input: [noMail] } });
    const { status, body } = await askJson(app.url, asked(blocks));
    expect([status, body.error.type, app.fake.requests.length]).toEqual([400, 'invalid_request_error', 0]);
    expect(body.error.message).toContain(`'${place}'`);
  });
});

it('[G-05] a thought that a guard changes is left out: its signature is of another text', async () => {
  await start({ guards: { input: [pii()] } });
  app.fake.reply(DONE);
  const answer = await askJson(app.url, asked([thought(`Of ${MAIL}.`), thought('Of owls.')]));
  expect([answer.status, received()]).toEqual([200, [thought('Of owls.'), { type: 'text', text: 'Ok.' }]]);
});

it('[G-05] a search goes back with what the guards replaced, and what they did not as it came', async () => {
  await start({ guards: { input: [pii()] } });
  app.fake.reply(DONE, DONE);
  await askJson(app.url, asked(search(MAIL, { title: `Of ${MAIL}` })));
  expect(received().slice(0, 2)).toMatchObject(search('[EMAIL]', { title: 'Of [EMAIL]' }));
  await askJson(app.url, asked([thought('Of owls.'), ...fetched({})]));
  expect(received().slice(0, 3)).toMatchObject([thought('Of owls.'), ...fetched({})]);
});

it('[G-05] results of this server are read as texts, whatever they look like', async () => {
  await start({ guards: { input: [pii()] }, tools });
  app.fake.reply(DONE);
  const id = 'srvtoolu_ws_1';
  const own = [
    { ...use('web_search', { query: MAIL }), id },
    {
      ...result('web_search_tool_result', [{ ...page, encrypted_content: 'DE89370400440532013000' }]),
      tool_use_id: id,
    },
  ];
  await askJson(app.url, asked(own));
  expect([sent().includes('DE89'), sent().includes(MAIL)]).toEqual([false, false]);
});

it('[G-05] a result of another kind than its use is not sealed unread', async () => {
  await start({ guards: { input: [pii()] } });
  app.fake.reply(DONE);
  const [called] = search('owls');
  await askJson(app.url, asked([called as object, result('code_execution_tool_result', [{ title: MAIL, url: MAIL }])]));
  expect(sent()).not.toContain(MAIL);
});

it('[G-05] a text is inspected once', async () => {
  const texts: string[] = [];
  const watching: Guard = {
    name: 'watching',
    inspect({ text }) {
      texts.push(text);
      return { action: 'pass' };
    },
  };
  await start({ guards: { input: [watching] } });
  app.fake.reply(DONE);
  await askJson(app.url, { ...asked([thought('Of owls.'), ...search('owls'), ...fetched({})]), system: 'Be kind.' });
  const seen = texts.filter((text) => /owls|Owls|kind|Ok|Go/.test(text)).sort();
  expect(seen).toEqual(['Be kind.', 'Go.', 'Go.', 'Of owls.', 'Ok.', 'Owls.', '{"query":"owls"}']);
});

describe('[G-05] placeholders', () => {
  const restoring = { input: [pii({ restore: true })] };

  it('stand in blocks that go back, and are those of the answer', async () => {
    await start({ guards: restoring });
    app.fake.reply(streamOf(messagesStream([textBlock(0, 'To [EMAIL_1] and [EMAIL_2].')])));
    const messages = [
      USER,
      { role: 'assistant', content: [thought(`Of ${MAIL}.`), ...search(MAIL), { type: 'text', text: 'Ok.' }] },
      { role: 'user', content: 'And ann@example.com?' },
    ];
    const { body } = await askJson(app.url, { messages });
    expect(received()).toMatchObject([...search('[EMAIL_1]'), { type: 'text', text: 'Ok.' }]);
    expect(sent()).toContain('And [EMAIL_2]?');
    expect([sent().includes('bob@'), sent().includes('ann@')]).toEqual([false, false]);
    expect(body.content).toMatchObject([{ text: `To ${MAIL} and ann@example.com.` }]);
  });

  it('of a middleware in front are not torn from their values', async () => {
    const fake = await startFakeUpstream();
    const upstream = anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
    const router = messagesRouter({ upstream, store: memoryStore(), logger: false });
    const inFront = guard({ guards: restoring, logger: false });
    const { url, server, close } = await listening(express().use('/v1', express.json(), inFront, router));
    const stop = async () => void (await Promise.all([close(), upstream.close?.(), fake.close()]));
    app = { url: `${url}/v1`, fake, router, server, close: stop };
    fake.reply(streamOf(messagesStream([textBlock(0, 'To [EMAIL_1].')])));
    const { body } = await askJson(app.url, asked([thought(`Of ${MAIL}.`), ...search(MAIL)]));
    expect(received()).toMatchObject([...search('[EMAIL_1]'), { type: 'text', text: 'Ok.' }]);
    expect([sent().includes('bob@'), body.content]).toMatchObject([false, [{ text: `To ${MAIL}.` }]]);
  });
});

it('[G-05] a thought without a signature is no thought of that server', async () => {
  await start({ tools });
  app.fake.reply(DONE);
  await askJson(app.url, asked([thought('Of owls.', '')]));
  expect(received()).toEqual([{ type: 'text', text: 'Ok.' }]);
});

describe('[G-05] stop sequences', () => {
  const stopped = (sequence: string) =>
    streamOf(
      messageStart() +
        textBlock(0, 'Hi.') +
        messagesEvent({ type: 'message_delta', delta: { stop_reason: 'stop_sequence', stop_sequence: sequence } }) +
        messagesEvent({ type: 'message_stop' }),
    );

  it.each([
    ['redacted', { input: [pii()] }, '[EMAIL]', '[EMAIL]'],
    ['given a placeholder', { input: [pii({ restore: true })] }, '[EMAIL_1]', MAIL],
  ])('are %s', async (_, guards, forModel, shown) => {
    await start({ guards });
    app.fake.reply(stopped(forModel), stopped(forModel), stopped(forModel));
    const { body } = await askJson(app.url, { stop_sequences: [MAIL, 'END'] });
    expect(lastBody(app).stop_sequences).toEqual([forModel, 'END']);
    expect([body.stop_reason, body.stop_sequence]).toEqual(['stop_sequence', shown]);
    const events = await askEvents(app.url, { stop_sequences: [MAIL, 'END'] });
    expect(lastBody(app).stop_sequences).toEqual([forModel, 'END']);
    expect(events.find(({ type }) => type === 'message_delta')?.delta).toEqual({
      stop_reason: 'stop_sequence',
      stop_sequence: shown,
    });
  });

  it('are refused', async () => {
    await start({ guards: { input: [noMail] } });
    const { status, body } = await askJson(app.url, { stop_sequences: ['END', MAIL] });
    expect([status, app.fake.requests.length]).toEqual([400, 0]);
    expect(body.error.message).toContain("'stop_sequences'");
  });

  it('are read for a server of Chat Completions', async () => {
    app = await startMessages({ guards: { input: [pii()] }, logger: false });
    app.fake.reply({ body: textStream(['Hi.']) }, { body: textStream(['Hi.']) });
    await (await ask(app.url, { stop_sequences: [MAIL] })).text();
    expect(lastBody(app).stop).toEqual(['[EMAIL]']);
    await (await ask(app.url, { stop_sequences: [MAIL], stream: true })).text();
    expect(lastBody(app).stop).toEqual(['[EMAIL]']);
  });
});

it('[G-05] what is counted for the Responses API is given placeholders, too', async () => {
  const fake = await startFakeUpstream();
  const upstream = anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const router = responsesRouter({ upstream, guards: { input: [pii({ restore: true })] }, logger: false });
  const { url, server, close } = await listening(express().use('/v1', router));
  const stop = async () => void (await Promise.all([close(), upstream.close?.(), fake.close()]));
  app = { url: `${url}/v1`, fake, router, server, close: stop };
  fake.reply(COUNT);
  const { status } = await askJson(app.url, { input: MAIL, instructions: MAIL }, { path: '/responses/input_tokens' });
  expect([status, fake.requests.length, sent().includes(MAIL), sent().includes('[EMAIL_1]')]).toEqual([
    200,
    1,
    false,
    true,
  ]);
});

it.each([
  ['redacted', false],
  ['given placeholders', true],
])('[G-05] what is counted is %s, too', async (_, restore) => {
  await start({ guards: { input: [pii({ restore })] } });
  app.fake.reply(COUNT);
  const body = { ...asked([thought(MAIL), ...search(MAIL)]), system: MAIL };
  const { status } = await askJson(app.url, body, { path: '/messages/count_tokens' });
  expect([status, app.fake.requests.length, sent().includes(MAIL)]).toEqual([200, 1, false]);
});
