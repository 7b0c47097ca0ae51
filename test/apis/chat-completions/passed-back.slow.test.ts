/** What a model server sent beside words and calls, in the request that we write behind a round of our tools. */

import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatCompletion, chatStream, type FakeAnswer, textStream } from '../../../src/testing/index.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { recordedJson, recordedStream } from '../../support/replay.ts';
import { describeShared, listShared } from '../../support/shared.ts';
import { type ChatApp, startChatApp } from './chat-app.ts';

let app: ChatApp | undefined;
afterEach(() => app?.close());

/** Every tool that the recordings call. */
const NAMES = [
  'lookup',
  'get_weather',
  'weather',
  'add',
  'multiply',
  'time',
  'alpha',
  'beta',
  'reasoning_weather',
  'f0',
  'f1',
];
const tools = functionTools(
  Object.fromEntries(NAMES.map((name) => [name, { parameters: {}, execute: () => 'Done.' }])),
);

/** The assistant message of the second request. */
async function second(reply: FakeAnswer, stream: boolean): Promise<JsonObject | undefined> {
  app ??= await startChatApp({ tools });
  const before = app.fake.requests.length;
  app.fake.reply(reply, { body: stream ? textStream('So.') : chatCompletion('So.') });
  const body = { model: 'm', stream, messages: [{ role: 'user', content: 'Go.' }] };
  // Counting takes so long that a connection could be closed as idle just when it is used again.
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const answer = await fetch(`${app.url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
  await answer.text();
  // The cast: a chat request has messages.
  const { messages = [] } = (app.fake.requests[before + 1]?.body ?? {}) as {
    readonly messages?: readonly JsonObject[];
  };
  return messages.find(({ role }) => role === 'assistant');
}

afterEach(() => {
  app = undefined;
});

const isV01 = (file: string) => file.startsWith('v01-reasoning-details-tools');

describeShared('a recorded message behind which our tools ran', () => {
  it.each(listShared('corpus/chat-json', '.json').filter(isV01))('[V-01] goes back as it came: %s', async (file) => {
    const reply = recordedJson(file.replace('.json', ''));
    const { message } = JSON.parse(String(reply.body)).choices[0];
    const calls = message.tool_calls.map(({ index: _, ...call }: JsonObject) => call);
    expect(await second(reply, false)).toEqual({ ...message, tool_calls: calls });
  });

  it.each(listShared('corpus/chat-stream', '.sse').filter(isV01))(
    '[V-01] goes back with its details put together: %s',
    async (file) => {
      const reply = recordedStream(file.replace('.sse', ''));
      const chunks = String(reply.body)
        .split('\n')
        .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
      const deltas: JsonObject[] = chunks.flatMap(({ choices }) => choices.map(({ delta }: JsonObject) => delta));
      const pieces = deltas.flatMap(({ reasoning_details: list = [] }) => list as JsonObject[]);
      const text = pieces.map((piece) => piece.text ?? '').join('');
      const whole = Object.assign({}, ...pieces, ...pieces.filter((piece) => piece.signature));
      const reasoning = deltas.map((delta) => delta.reasoning ?? '').join('');
      const message = await second(reply, true);
      expect(message?.reasoning_details).toEqual([text === '' ? whole : { ...whole, text }]);
      expect(message?.reasoning ?? '').toBe(reasoning);
    },
  );
});

// Written after Google's, Mistral's and others' documentation.
describe('a message behind which our tools ran', () => {
  const google = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } });
  const call = (index: number, more: JsonObject = {}) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name: `f${index}`, arguments: '{}' },
    ...more,
  });
  const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });

  it('[V-01] goes back with signatures on its calls and on itself, and with fields that nobody knows', async () => {
    const calls = [call(0, google('a')), call(1, { unheard: { of: [1] } })];
    const written = { content: 'Hm.', reasoning: 'So.', vendor: { trace: 'x', list: [1, 2] }, ...google('m') };
    const expected = { role: 'assistant', ...written, tool_calls: calls };
    const deltas = [
      { reasoning: 'S' },
      { reasoning: 'o.' },
      { content: 'Hm' },
      { content: '.' },
      { vendor: { trace: 'x', list: [1] } },
      ...calls.map((each, index) => ({ tool_calls: [{ ...each, index }] })),
      { content: '', vendor: { trace: 'x', list: [2] }, ...google('m') },
    ];
    expect(await second({ body: chatStream(...deltas) }, true)).toEqual(expected);
    expect(await second({ body: chatCompletion({ ...written, tool_calls: calls }) }, false)).toEqual(expected);
  });

  it('[V-02] goes back with content in parts, put together', async () => {
    const text = (words: string) => ({ type: 'text', text: words });
    const deltas = [
      { content: [thinking('H')] },
      { content: [thinking('m.')] },
      { content: [text('S')] },
      { content: [text('o.')] },
      { tool_calls: [{ ...call(0), index: 0 }] },
    ];
    const content = [thinking('Hm.'), text('So.')];
    expect(await second({ body: chatStream(...deltas) }, true)).toEqual({
      role: 'assistant',
      content,
      tool_calls: [call(0)],
    });
  });

  it("[V-01] goes back with Claude's thoughts, put together until each is signed", async () => {
    const summary = (text: string, more: JsonObject = {}) => ({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text, ...more }],
    });
    const block = (thinking: string, signature = '') => ({ type: 'thinking', thinking, signature });
    const redacted = { type: 'redacted_thinking', data: 'x' };
    const text = { type: 'text', text: 'So.' };
    const pieces = [block('H'), block('m.'), block('', 'a'), redacted, redacted, block('O', ''), block('Oh.', 'b')];
    const parts = [summary('H'), summary('m.'), summary('', { signature: 'a' }), summary('Oh.'), text, summary('Ah.')];
    const deltas = [
      ...pieces.map((each) => ({ thinking_blocks: [each] })),
      ...parts.map((each) => ({ content: [each] })),
      { tool_calls: [{ ...call(0), index: 0 }] },
    ];
    expect(await second({ body: chatStream(...deltas) }, true)).toEqual({
      role: 'assistant',
      thinking_blocks: [block('Hm.', 'a'), redacted, redacted, block('Oh.', 'b')],
      content: [summary('Hm.', { signature: 'a' }), summary('Oh.'), text, summary('Ah.')],
      tool_calls: [call(0)],
    });
  });

  it('[V-01] goes back with text that came as such behind a thought in parts', async () => {
    const part = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.', signature: 'a' }] };
    const deltas = [{ content: [part] }, { content: 'S' }, { content: 'o' }, { content: '.' }];
    expect(await second({ body: chatStream(...deltas, { tool_calls: [{ ...call(0), index: 0 }] }) }, true)).toEqual({
      role: 'assistant',
      content: [part, { type: 'text', text: 'So.' }],
      tool_calls: [call(0)],
    });
  });

  it('[F-12] takes work in proportion to what comes', async () => {
    await expectLinearWork(1000, async (count) => {
      const deltas = Array.from({ length: count }, (_, at) => ({ vendor: { [`f${at}`]: [at], list: [at] } }));
      await second({ body: chatStream(...deltas, { tool_calls: [{ ...call(0), index: 0 }] }) }, true);
    });
  });
});
