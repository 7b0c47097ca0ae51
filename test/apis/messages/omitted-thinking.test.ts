/** `thinking.display`: a client that wants no thoughts receives their signatures, and the model its thoughts back. */

import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { functionTools, type Note, type RouterOptions } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatStream, type FakeReply } from '../../../src/testing/index.ts';
import { messagesStream, textBlock, thinkingBlock } from '../../upstreams/messages-bytes.ts';
import { messageOf } from './accumulate.ts';
import { askEvents, askJson, lastBody, type MessagesApp, startMessages, USER } from './messages-app.ts';

let app: MessagesApp;
afterEach(() => app.close());

const TOOLS = [{ name: 'look', input_schema: { type: 'object' } }];
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen.' };
const SIGNATURE = expect.stringMatching(/^pst1\./);
const THOUGHT = { type: 'thinking', thinking: '', signature: SIGNATURE };
const HI = { type: 'text', text: 'Hi.' };

const wanting = (display: unknown) => ({ thinking: { type: 'adaptive', display }, tools: TOOLS });
const OMITTED = wanting('omitted');

async function startThinking(options: RouterOptions = {}): Promise<void> {
  app = await startMessages(options);
  app.fake.reply({
    body: chatStream({ reasoning_content: 'Hm. ' }, { reasoning_content: 'Yes.' }, { content: 'Hi.' }),
  });
}

async function startAnthropic(reply: Exclude<FakeReply, { hang: true } | { reset: string }>['body']): Promise<void> {
  const tools = functionTools({ weather: { execute: () => 'Sunny.' } });
  app = await startMessages(({ baseURL }) => ({ tools, upstream: anthropicUpstream({ baseURL, retries: 0 }) }));
  app.fake.reply({ body: reply, headers: { 'content-type': 'text/event-stream' } });
}

/** The second message that the model server receives when the client answers a call after this content. */
async function goesBack(content: readonly JsonObject[], body: JsonObject = OMITTED): Promise<JsonObject | undefined> {
  const answer = { role: 'assistant', content: [...content, CALL] };
  await askJson(app.url, { ...body, messages: [USER, answer, { role: 'user', content: [RESULT] }] });
  return lastBody(app).messages[1];
}

it('[X-12] leaves the text out of a whole answer', async () => {
  await startThinking();
  expect((await askJson(app.url, OMITTED)).body.content).toEqual([THOUGHT, HI]);
});

it("[X-12] streams an empty delta and the signature, as Anthropic's server does", async () => {
  await startThinking();
  const events = await askEvents(app.url, OMITTED);
  expect(events.slice(1, 5)).toEqual([
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: SIGNATURE } },
    { type: 'content_block_stop', index: 0 },
  ]);
  expect(messageOf(events)?.content).toEqual([THOUGHT, HI]);
});

it('[X-12] pings while it sends nothing of a long thought', async () => {
  app = await startMessages({ heartbeat: { intervalMs: 20 } });
  const thoughts = Array.from({ length: 40 }, () => ({ reasoning_content: 'Hm. ' }));
  const frames = chatStream(...thoughts, { content: 'Hi.' }).split(/(?<=\n\n)/);
  app.fake.reply({ body: frames, paceMs: 5 });
  const types = (await askEvents(app.url, OMITTED)).map(({ type }) => type);
  const thought = types.slice(types.indexOf('content_block_start'), types.indexOf('content_block_stop'));
  expect(thought.filter((type) => type === 'ping').length).toBeGreaterThan(1);
});

it.each(['summarized', null, undefined])('[X-12] shows the text where %s is wanted', async (display) => {
  await startThinking();
  const { content } = (await askJson(app.url, wanting(display))).body;
  expect(content).toEqual([{ type: 'thinking', thinking: 'Hm. Yes.', signature: SIGNATURE }, HI]);
});

it('[X-12] has no progress updates to show where they are wanted', async () => {
  await startThinking();
  expect((await askJson(app.url, wanting('updates'))).body.content).toEqual([THOUGHT, HI]);
});

it('[X-12] gives the model its thought back, whatever the client wrote in its place', async () => {
  await startThinking();
  const [thought, text] = (await askJson(app.url, OMITTED)).body.content;
  for (const thinking of ['', 'Mine.']) {
    const back = await goesBack([{ ...thought, thinking }, { ...text }]);
    expect(back).toMatchObject({ content: 'Hi.', reasoning_content: 'Hm. Yes.' });
  }
  const shown = await goesBack([{ ...thought }, { ...text }], wanting('summarized'));
  expect(shown).toMatchObject({ reasoning_content: 'Hm. Yes.' });
});

it('[X-12] gives it to no other tenant', async () => {
  await startThinking({ scope: ({ headers }) => headers['x-tenant']?.toString() ?? '' });
  const { content } = (await askJson(app.url, OMITTED, { headers: { 'x-tenant': 'a' } })).body;
  const back = await goesBack(content);
  expect([back?.content, back?.reasoning_content]).toEqual(['Hi.', undefined]);
});

it('[K-03] signs a thought that is shown, and gives it back by its signature', async () => {
  await startThinking();
  const shown = wanting('summarized');
  const events = await askEvents(app.url, shown);
  const [thought, text] = messageOf(events)?.content ?? [];
  expect(thought).toEqual({ type: 'thinking', thinking: 'Hm. Yes.', signature: SIGNATURE });
  for (const thinking of ['Hm. Yes.', '', 'Mine.']) {
    const back = await goesBack([{ ...thought, thinking }, { ...text }], shown);
    expect(back).toMatchObject({ content: 'Hi.', reasoning_content: 'Hm. Yes.' });
  }
});

it("[V-01] gives Claude's signed thoughts back to a Chat Completions server, shown or not", async () => {
  const blocks = [{ type: 'thinking', thinking: 'Hm. Yes.', signature: 'c2ln' }];
  const parts = [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm. Yes.', signature: 'c2ln' }] }];
  const forms: readonly (readonly [JsonObject, JsonObject])[] = [
    [
      { reasoning_content: 'Hm. Yes.', thinking_blocks: blocks },
      { thinking_blocks: blocks, content: 'Hi.' },
    ],
    [{ content: parts }, { content: [...parts, HI] }],
  ];
  for (const [delta, expected] of forms)
    for (const body of [OMITTED, wanting('summarized')]) {
      app = await startMessages();
      app.fake.reply({ body: chatStream(delta, { content: 'Hi.' }) }, { body: chatStream({ content: 'So.' }) });
      const thinking = body === OMITTED ? '' : 'Hm. Yes.';
      const { content } = (await askJson(app.url, body)).body;
      expect(content).toEqual([{ type: 'thinking', thinking, signature: SIGNATURE }, HI]);
      expect(await goesBack(content, body)).toMatchObject(expected);
      await app.close();
    }
});

it('[K-03] notes a signature that is broken or of another server, and keeps the text beside it', async () => {
  const notes: Note[] = [];
  await startThinking({ hooks: { onNote: (note) => void notes.push(note) } });
  const [thought, text] = (await askJson(app.url, wanting('summarized'))).body.content;
  for (const signature of [`${thought?.signature}AAAA`, 'EqQBCgIYAhIM']) {
    notes.splice(0);
    const back = await goesBack([{ type: 'thinking', thinking: 'Theirs.', signature }, { ...text }]);
    expect(back).toMatchObject({ content: 'Hi.', reasoning_content: 'Theirs.' });
    expect(notes).toMatchObject([{ code: 'state_unreadable' }]);
  }
});

it("[X-12] asks Anthropic's server for no text, and gives its state back", async () => {
  await startAnthropic(messagesStream([thinkingBlock(0, '', 'c2ln'), textBlock(1, 'Hi.')]));
  const { content } = (await askJson(app.url, OMITTED)).body;
  expect(lastBody(app).thinking).toEqual({ type: 'adaptive', display: 'omitted' });
  expect(content).toEqual([THOUGHT, HI]);
  expect(messageOf(await askEvents(app.url, OMITTED))?.content).toEqual([THOUGHT, HI]);
  const back = await goesBack(content);
  expect(back?.content).toEqual([{ type: 'thinking', thinking: '', signature: 'c2ln' }, HI, CALL]);
});

it("[X-12] asks Anthropic's server for the text that the client wants", async () => {
  await startAnthropic(messagesStream([textBlock(0, 'Hi.')]));
  const sent: unknown[] = [];
  for (const display of ['summarized', 'updates', undefined]) {
    await askJson(app.url, wanting(display));
    sent.push(lastBody(app).thinking);
  }
  expect(sent).toEqual([
    { type: 'adaptive', display: 'summarized' },
    { type: 'adaptive', display: 'omitted' },
    { type: 'adaptive' },
  ]);
});
