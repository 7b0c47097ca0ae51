/** Answers of model servers that number their only choice otherwise than 0. */

import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatCompletion, type FakeReply, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { type App, startApp } from '../../support/app.ts';
import { askForStream } from '../../support/responses-client.ts';
import { askChunks, askData, askJson, type ChatApp, startChatApp } from './chat-app.ts';

const WORDS = ['It ', 'is ', 'foggy ', 'in ', 'Oslo ', 'today.'];
const CALL = { id: 'call_1', name: 'ours', arguments: '{"a":1}' };

/** The same bytes with another number of the choice. */
const numbered = (bytes: string, number: number) =>
  bytes.replaceAll('"choices":[{"index":0', `"choices":[{"index":${number}`);
/** The events of several streams, in turns. */
const interleaved = (...streams: readonly string[]) => {
  const frames = streams.map((stream) => stream.split('\n\n').filter((frame) => frame && !frame.includes('[DONE]')));
  const longest = Math.max(...frames.map(({ length }) => length));
  const ordered = Array.from({ length: longest }, (_, at) => frames.flatMap((each) => each[at] ?? []));
  return [...ordered.flat(), 'data: [DONE]', ''].join('\n\n');
};

describe('the only choice of an answer, numbered 1,', () => {
  let chat: ChatApp;
  let responses: App;
  let arguments_: unknown[];

  beforeEach(async () => {
    arguments_ = [];
    const execute = (args: unknown) => `result ${arguments_.push(args)}`;
    chat = await startChatApp({ tools: functionTools({ ours: { execute } }) });
    responses = await startApp({ upstream: chat.fake });
  });
  afterEach(() => Promise.all([chat.close(), responses.close()]));

  it.each<[string, FakeReply]>([
    ['a stream', { body: numbered(textStream(WORDS), 1) }],
    ['JSON', { body: numbered(chatCompletion(WORDS.join('')), 1) }],
  ])('[V-11] is the answer of a response: %s', async (_, reply) => {
    chat.fake.reply(reply);
    const { response } = await askForStream(responses.url, { input: 'Go.' });
    expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: WORDS.join('') }] }] });
  });

  it('[V-11] calls tools of the server in Chat Completions, and every chunk has its number', async () => {
    chat.fake.reply({ body: numbered(toolCallStream([CALL]), 1) });
    chat.fake.reply({ body: numbered(textStream(WORDS), 1) });
    const chunks = await askChunks(chat.url);
    // The cast: chunks of this API have choices.
    const choices = chunks.flatMap((chunk) => chunk.choices as readonly JsonObject[]);
    expect({ numbers: [...new Set(choices.map(({ index }) => index))], arguments_ }).toEqual({
      numbers: [1],
      arguments_: [{ a: 1 }],
    });
    expect(choices.at(-1)?.finish_reason).toBe('stop');
  });

  it('[V-11] calls tools of the server in Chat Completions, in JSON', async () => {
    const { id, name, arguments: json } = CALL;
    const called = chatCompletion({ tool_calls: [{ id, type: 'function', function: { name, arguments: json } }] });
    chat.fake.reply({ body: numbered(called, 1) });
    chat.fake.reply({ body: numbered(chatCompletion('Done.'), 1) });
    const { body } = await askJson(chat.url);
    expect(body).toMatchObject({ choices: [{ message: { content: 'Done.' }, finish_reason: 'stop' }] });
    expect(arguments_).toEqual([{ a: 1 }]);
  });
});

describe('several choices', () => {
  let chat: ChatApp;
  beforeEach(async () => {
    chat = await startChatApp({ tools: functionTools({ ours: { execute: () => 'result' } }) });
  });
  afterEach(() => chat.close());

  const other = numbered(textStream(WORDS.map((word) => word.toUpperCase())), 1);

  it('[S-19] all reach a client that asked for them, whichever comes first', async () => {
    const bytes = interleaved(other, textStream(WORDS));
    chat.fake.reply({ body: bytes });
    const data = await askData(chat.url, { n: 2 });
    expect(data.map((each) => `data: ${each}\n\n`).join('')).toBe(bytes);
  });

  it('[V-11] are one answer for a response: that of the choice that came first', async () => {
    const app = await startApp({ upstream: chat.fake });
    chat.fake.reply({ body: interleaved(textStream(WORDS), other) });
    chat.fake.reply({ body: interleaved(other, textStream(WORDS)) });
    const one = await askForStream(app.url, { input: 'Go.' });
    const two = await askForStream(app.url, { input: 'Go.' });
    await app.close();
    expect(one.response).toMatchObject({ output: [{ content: [{ text: WORDS.join('') }] }] });
    expect(two.response).toMatchObject({ output: [{ content: [{ text: WORDS.join('').toUpperCase() }] }] });
  });
});
