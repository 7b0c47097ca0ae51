/** Every recorded Messages answer, through `anthropicUpstream` and out again: passed on, and through items. */
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import type { FakeUpstream } from '../../../src/testing/index.ts';
import { describeShared, listShared, readShared } from '../../support/shared.ts';
import { block, messagesStream, textBlock } from '../../upstreams/messages-bytes.ts';
import {
  type MessagesReading,
  readMessagesJson,
  readMessagesStream,
  streamsIn,
} from '../../upstreams/naive-messages.ts';
import { messageOf } from './accumulate.ts';
import {
  ask,
  askEvents,
  askJson,
  type Block,
  eventsIn,
  type MessagesApp,
  type StreamEvent,
  startMessages,
} from './messages-app.ts';

const STREAMS = 'corpus/anthropic-stream';
const MESSAGES = 'corpus/anthropic-json';

/** One without its end is none at all. */
const streams = listShared(STREAMS, '.sse')
  .flatMap((file) =>
    streamsIn(readShared(`${STREAMS}/${file}`)).map((text, index) => [`${file} #${index}`, text] as const),
  )
  .filter(([, text]) => text.includes('event: message_stop'));
/** A pause is not the end of a turn that is run here. */
const pauses = streams.filter(([, text]) => text.includes('"pause_turn"'));
const turns = streams.filter((each) => !pauses.includes(each));
const messages = listShared(MESSAGES, '.json')
  .filter((file) => !file.endsWith('.request.json'))
  .map((file) => [file, readShared(`${MESSAGES}/${file}`)] as const);

let passing: MessagesApp;
let running: MessagesApp;
beforeAll(async () => {
  const upstream = ({ baseURL }: FakeUpstream) => anthropicUpstream({ baseURL, apiKey: 'k', retries: 0 });
  passing = await startMessages((fake) => ({ upstream: upstream(fake) }));
  const tools = functionTools({ never_called: { execute: () => '' } });
  running = await startMessages((fake) => ({ upstream: upstream(fake), tools }));
});
afterAll(() => Promise.all([passing.close(), running.close()]));

const eventStream = (body: string) => ({ body, headers: { 'content-type': 'text/event-stream' } });

/** The events as data, without the end marker that some servers add. */
function dataOf(text: string): readonly unknown[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data:'));
  return lines
    .map((line) => line.slice('data:'.length).trim())
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data));
}

/** Why a message ended; one that comes at once says so at its start. */
function endIn(events: readonly unknown[]): JsonObject {
  // The cast: every event of a recording is an object with a type.
  const all = events as readonly StreamEvent[];
  const ends = all.map(
    ({ type, message, delta }) => (type === 'message_delta' ? delta : message) as JsonObject | undefined,
  );
  const { stop_reason, stop_sequence = null } = ends.findLast((end) => end?.stop_reason !== undefined) ?? {};
  return { stop_reason, stop_sequence };
}

/** Tokens written to the cache and read from it, as they are counted last. */
function cacheIn(events: readonly unknown[]): readonly unknown[] {
  const counts = (events as readonly StreamEvent[]).flatMap(({ message, usage }) => [
    (message as JsonObject | undefined)?.usage,
    usage,
  ]);
  const { cache_creation_input_tokens: written, cache_read_input_tokens: read } = Object.assign({}, ...counts);
  return [written ?? 0, read ?? 0];
}

/** What is the same through items: signatures are sealed on the way, and citations have no place in the stream's past. */
function meant({ segments, status, usage, thoughts, cited }: MessagesReading) {
  return { segments, status, usage, thoughts: thoughts.length, cited: cited.map(([url]) => url) };
}

describeShared('a recorded Messages stream', () => {
  it('[X-12] [Q-03] is one of many', () => expect(streams.length).toBeGreaterThan(25));

  it.each(streams)('[X-12] [Q-03] is passed on event by event: %s', async (_name, text) => {
    passing.fake.reply(eventStream(text));
    const answer = await (await ask(passing.url, { stream: true })).text();
    expect(eventsIn(answer)).toEqual(dataOf(text));
  });

  it.each(turns)('[X-12] [Q-03] means the same through items, streamed and in JSON: %s', async (_name, text) => {
    running.fake.reply(eventStream(text));
    const end = endIn(dataOf(text));
    const request = end.stop_sequence ? { stop_sequences: [end.stop_sequence] } : {};
    const events = await askEvents(running.url, request);
    expect([endIn(events), cacheIn(events)]).toEqual([end, cacheIn(dataOf(text))]);
    const again = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    expect(meant(readMessagesStream(again))).toEqual(meant(readMessagesStream(text)));
    const streamed = messageOf(events);
    running.fake.reply(eventStream(text));
    const { body } = await askJson(running.url, request);
    expect(plain(body)).toEqual(plain(streamed));
  });

  it.each(pauses)('[X-12] [Q-03] goes on by itself through items after a pause: %s', async (_name, text) => {
    const open = dataOf(text).map((event) => (event as StreamEvent).content_block as Block | undefined);
    const asked = open.filter((block) => block?.type === 'server_tool_use');
    const found = { type: 'web_search_tool_result', tool_use_id: asked.at(-1)?.id, content: [] };
    running.fake.reply(eventStream(text), eventStream(messagesStream([block(0, found), textBlock(1, 'All done.')])));
    const message = messageOf(await askEvents(running.url));
    expect([message?.stop_reason, message?.content.at(-1)]).toEqual(['end_turn', { type: 'text', text: 'All done.' }]);
    const uses = message?.content.filter(({ type }) => type === 'server_tool_use');
    expect(uses?.length).toBe(asked.length);
    expect(message?.usage.server_tool_use).toMatchObject({ web_search_requests: asked.length });
  });
});

describeShared('a recorded Messages answer in JSON', () => {
  it.each(messages)('[X-12] [Q-03] is passed on, and means the same through items: %s', async (_name, text) => {
    const reply = { body: text, headers: { 'content-type': 'application/json' } };
    passing.fake.reply(reply);
    expect(await (await ask(passing.url)).text()).toBe(text);
    running.fake.reply(reply);
    const { body } = await askJson(running.url);
    expect(meant(readMessagesJson(JSON.stringify(body)))).toEqual(meant(readMessagesJson(text)));
  });
});

/** Without what is made anew for each request. */
function plain(message: unknown): unknown {
  const text = JSON.stringify(message)
    .replace(/_[0-9a-f]{32}/g, '_')
    .replace(/pst1\.[\w-]+/g, 'pst1.');
  return JSON.parse(text);
}
