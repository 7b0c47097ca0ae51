/** Clients that still speak of `functions`: their calls come back as they know them, and the server's run behind them. */

import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  chatChunk,
  chatCompletion,
  chatStream,
  type FakeAnswer,
  textStream,
  toolCallStream,
} from '../../../src/testing/index.ts';
import { askChunks, askData, askJson, type ChatApp, QUESTION, requestedOf, startChatApp } from './chat-app.ts';

const FUNCTIONS = { functions: [{ name: 'theirs' }] };
const THEIRS = { name: 'theirs', arguments: '{"b":2}' };
const OURS = { name: 'ours', arguments: '{"a":1}' };

let app: ChatApp;

beforeEach(async () => {
  app = await startChatApp({ tools: functionTools({ ours: { execute: (args: JsonObject) => ({ got: args }) } }) });
});
afterEach(() => app.close());

/** A stream that calls a function in three pieces, after some text. */
function calls({ name, arguments: json }: typeof OURS, text: string): FakeAnswer {
  const pieces = [{ name, arguments: '' }, { arguments: json.slice(0, 4) }, { arguments: json.slice(4) }];
  const body = chatStream({ role: 'assistant', content: text }, ...pieces.map((piece) => ({ function_call: piece })));
  return { body: body.replace('"finish_reason":"stop"', '"finish_reason":"function_call"') };
}

function callsWhole(called: typeof OURS): FakeAnswer {
  return { body: chatCompletion({ function_call: called }, { finish_reason: 'function_call' }) };
}

const ASKED_BACK = [
  ...QUESTION.messages,
  { role: 'assistant', content: expect.anything(), function_call: OURS },
  { role: 'function', name: 'ours', content: '{"got":{"a":1}}' },
];

it("[S-19] passes a client's function call on byte for byte", async () => {
  const answer = calls(THEIRS, 'Yours: ');
  app.fake.reply(answer);
  const data = await askData(app.url, { ...FUNCTIONS, stream_options: { include_usage: true } });
  expect(data.map((each) => `data: ${each}\n\n`).join('')).toBe(answer.body);
});

it('[S-19] [A-28] runs a function of the server, and sends the model its result in a function message', async () => {
  app.fake.reply(calls(OURS, 'Ours: '), { body: textStream('Done.') });
  const chunks = await askChunks(app.url, { ...FUNCTIONS, function_call: { name: 'ours' } });
  const text = JSON.stringify(chunks);
  expect({ shown: text.includes('function_call'), finish: text.match(/"finish_reason":"\w+"/g) }).toEqual({
    shown: false,
    finish: ['"finish_reason":"stop"'],
  });
  expect({ messages: requestedOf(app).messages, choice: requestedOf(app).function_call }).toEqual({
    messages: ASKED_BACK,
    choice: 'auto',
  });
});

it('[S-19] [A-27] runs a function of the server in JSON too', async () => {
  app.fake.reply(
    { body: chatCompletion({ content: 'Ours: ', function_call: OURS }) },
    { body: chatCompletion('Done.') },
  );
  const { body } = await askJson(app.url, FUNCTIONS);
  const [{ message }] = body.choices as [{ message: JsonObject }];
  expect(message).toEqual({ role: 'assistant', content: 'Ours: Done.' });
  expect(requestedOf(app).messages).toEqual(ASKED_BACK);
});

it("[S-19] sends a client's function call in chunks, where the model server answered in JSON", async () => {
  app.fake.reply(callsWhole(THEIRS));
  const chunks = await askChunks(app.url, FUNCTIONS);
  const head = { id: 'chatcmpl-fake', created: 1_700_000_000, model: 'fake-model', object: 'chat.completion.chunk' };
  expect(chunks).toEqual([
    { ...head, choices: [{ index: 0, delta: { role: 'assistant', function_call: THEIRS }, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'function_call' }] },
  ]);
});

it("[S-19] sends a client's function call in JSON, where the model server answered in a stream", async () => {
  app.fake.reply(calls(THEIRS, 'Yours: '));
  const { body } = await askJson(app.url, FUNCTIONS);
  const [choice] = body.choices as [JsonObject];
  expect(choice).toEqual({
    index: 0,
    message: { role: 'assistant', content: 'Yours: ', function_call: THEIRS },
    finish_reason: 'function_call',
  });
});

it('[T-12] makes the model answer without functions when it goes round in circles', async () => {
  const again = callsWhole(OURS);
  app.fake.reply(again, again, again, { body: chatCompletion('Fine.') });
  await askJson(app.url, FUNCTIONS);
  const choices = app.fake.requests.map(({ body }) => (body as JsonObject).function_call);
  expect(choices).toEqual([undefined, undefined, undefined, 'none']);
});

it('[S-19] holds a function call back only until it is known whose it is', async () => {
  const opening = chatChunk({ function_call: { name: 'theirs', arguments: '' } });
  const rest = chatChunk({ function_call: { arguments: '{}' } });
  const end = chatChunk({}, { finish_reason: 'function_call' });
  app.fake.reply({ body: [opening, rest, end, 'data: [DONE]\n\n'] });
  const data = await askData(app.url, FUNCTIONS);
  expect(data.map((each) => `data: ${each}\n\n`)).toEqual([opening, rest, end, 'data: [DONE]\n\n']);
});

it('[F-23] shows the model a picture as a picture, not as the text of its bytes', async () => {
  const url = `data:image/png;base64,${'A'.repeat(80_000)}`;
  const execute = () => ({
    content: [
      { type: 'input_text', text: 'A cat:' },
      { type: 'input_image', image_url: url },
    ],
  });
  await app.close();
  const cats = { name: 'cats', list: () => [{ server: 'cats', name: 'ours' }], call: async () => execute() };
  app = await startChatApp({ tools: cats });
  app.fake.reply(callsWhole(OURS), { body: chatCompletion('Done.') });
  await askJson(app.url, FUNCTIONS);
  expect(requestedOf(app).messages.slice(-2)).toEqual([
    { role: 'function', name: 'ours', content: 'A cat:' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url, detail: 'auto' } }] },
  ]);
});

/** Model servers that write several calls, whatever the request has. */
const severalOf = (...called: readonly (typeof OURS)[]) => ({
  body: toolCallStream(called.map((each, at) => ({ id: `call_${at}`, ...each }))),
});

it.each([
  ['in JSON', false],
  ['in a stream', true],
])('[S-19] [T-02] sends the model the results of all functions that it calls at once, %s', async (_name, stream) => {
  app.fake.reply(severalOf(OURS, { ...OURS, arguments: '{"a":2}' }), { body: textStream('Done.') });
  await (stream ? askData : askJson)(app.url, FUNCTIONS);
  const results = requestedOf(app).messages.filter(({ role }) => role === 'function');
  expect(results.map(({ content }) => content)).toEqual(['{"got":{"a":1}}', '{"got":{"a":2}}']);
});

it('[S-19] [T-04] hands the client one call, beside functions of the server, in JSON and in a stream', async () => {
  const other = { name: 'theirs', arguments: '{"c":3}' };
  app.fake.reply(severalOf(OURS, THEIRS, other));
  const { body } = await askJson(app.url, FUNCTIONS);
  app.fake.reply(severalOf(OURS, THEIRS, other));
  // The casts: chunks of this API.
  const choices = (await askChunks(app.url, FUNCTIONS)).flatMap(({ choices }) => choices as readonly Choice[]);
  const pieces = choices.flatMap(({ delta }) => delta?.function_call ?? []);
  const called = { name: pieces[0]?.name, arguments: pieces.map((piece) => piece.arguments).join('') };
  const [choice] = body.choices as readonly Choice[];
  expect([choice?.message?.function_call, choice?.finish_reason]).toEqual([THEIRS, 'function_call']);
  expect([called, choices.at(-1)?.finish_reason]).toEqual([THEIRS, 'function_call']);
});

interface Choice {
  readonly delta?: { readonly function_call?: Partial<typeof THEIRS> };
  readonly message?: { readonly function_call?: typeof THEIRS };
  readonly finish_reason: string | null;
}
