/** What a request forbids stays forbidden where a model server speaks the Messages API itself, and its answer is passed on. */

import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import type { Note } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { messageOf } from '../apis/messages/accumulate.ts';
import { ask, askEvents, askJson, type MessagesApp, startMessages } from '../apis/messages/messages-app.ts';
import { messagesStream, textBlock, thinkingBlock, toolBlock } from '../upstreams/messages-bytes.ts';

const TOOLS = ['ask', 'write'].map((name) => ({ name, input_schema: { type: 'object' } }));
const NONE = { type: 'none' };
const FORCED = { type: 'tool', name: 'ask' };
const SINGLE = { type: 'auto', disable_parallel_tool_use: true };

let app: MessagesApp;
const notes: Note[] = [];
afterEach(async () => {
  notes.length = 0;
  await app.close();
});

async function start(iterations = 4): Promise<void> {
  const hooks = { onNote: (note: Note) => void notes.push(note), onError: () => {} };
  app = await startMessages(({ baseURL }) => ({
    upstream: anthropicUpstream({ baseURL, apiKey: 'k', retries: 0 }),
    hooks,
    logger: false,
    limits: { tools: { iterations } },
  }));
}

/** What the model server writes, round by round. */
type Round = readonly JsonObject[];
const text = (said: string): JsonObject => ({ type: 'text', text: said });
const use = (name: string, id = `toolu_${name}`, input: JsonObject = { a: 1 }): JsonObject => ({
  ...{ type: 'tool_use', id, name, input },
});
const thought: JsonObject = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };

function streamed(blocks: Round): string {
  const frames = blocks.map((block, index) => {
    if (block.type === 'text') return textBlock(index, String(block.text));
    if (block.type === 'thinking') return thinkingBlock(index, 'Hm.', 'c2ln');
    return toolBlock(index, String(block.id), String(block.name), JSON.stringify(block.input));
  });
  return messagesStream(frames, { stop: stopOf(blocks), output: 12 });
}

const stopOf = (blocks: Round) => (blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn');

function whole(blocks: Round): string {
  const usage = { input_tokens: 9, output_tokens: 12 };
  const message = { id: 'msg_fake', type: 'message', role: 'assistant', model: 'fake-model', content: blocks };
  return JSON.stringify({ ...message, stop_reason: stopOf(blocks), stop_sequence: null, usage });
}

/** The message that a client receives, streamed or not, of a model that answers so. */
async function answered(isStream: boolean, rounds: readonly Round[], body: JsonObject) {
  const type = isStream ? 'text/event-stream' : 'application/json';
  app.fake.reply(
    ...rounds.map((blocks) => ({
      body: isStream ? streamed(blocks) : whole(blocks),
      headers: { 'content-type': type },
    })),
  );
  const asked = { tools: TOOLS, ...body };
  const message: JsonObject | undefined = isStream
    ? messageOf(await askEvents(app.url, asked))
    : (await askJson(app.url, asked)).body;
  const { content, stop_reason: stop, usage } = message ?? {};
  return { content, stop, usage };
}

describe.each([true, false])('with stream %s', (isStream) => {
  it('[O-01] tool_choice none shows no call, and the model is told so and asked again', async () => {
    await start();
    const rounds = [[thought, use('write')], [text('Done.')]];
    const { content, stop, usage } = await answered(isStream, rounds, { tool_choice: NONE });
    expect([content, stop]).toEqual([[thought, text('Done.')], 'end_turn']);
    expect(usage).toMatchObject({ input_tokens: 18, output_tokens: 24 });
    expect(notes.map(({ code }) => code)).toEqual(['call_dropped']);
    const [first, second] = app.fake.requests.map(({ body }) => body as JsonObject & { readonly messages: unknown[] });
    const result = { type: 'tool_result', tool_use_id: 'toolu_write', is_error: true };
    expect(second?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: [thought, use('write')] },
      { role: 'user', content: [{ ...result, content: expect.stringMatching(/^Not run: no tool/) }] },
    ]);
    expect([second?.tools, second?.tool_choice]).toEqual([first?.tools, first?.tool_choice]);
  });

  it('[O-01] tool_choice none is content with the text beside a call', async () => {
    await start();
    const { content, stop } = await answered(isStream, [[text('Well.'), use('write')]], { tool_choice: NONE });
    expect([content, stop, app.fake.requests.length]).toEqual([[text('Well.')], 'end_turn', 1]);
  });

  it('[O-01] a model that never stops calling ends, incomplete', async () => {
    await start(3);
    const rounds = [1, 2, 3, 4, 5].map((at) => [use('write', `toolu_${at}`)]);
    const { content, stop } = await answered(isStream, rounds, { tool_choice: NONE });
    expect([content, stop, app.fake.requests.length]).toEqual([[], 'pause_turn', 4]);
  });

  it('[O-03] a forced tool is called before any other', async () => {
    await start();
    const rounds = [[use('write')], [text('Now.'), use('ask')]];
    const { content, stop } = await answered(isStream, rounds, { tool_choice: FORCED });
    expect([content, stop]).toEqual([[text('Now.'), use('ask')], 'tool_use']);
    expect(notes.map(({ code }) => code)).toEqual(['call_dropped']);
  });

  it('[O-03] an answer without the demanded call is noted', async () => {
    await start();
    for (const choice of [FORCED, { type: 'any' }]) await answered(isStream, [[text('No.')]], { tool_choice: choice });
    expect(notes.map(({ code }) => code)).toEqual(['call_missing', 'call_missing']);
  });

  it('[O-03] disable_parallel_tool_use leaves the first call', async () => {
    await start();
    const rounds = [[use('ask', 'toolu_1'), use('write', 'toolu_2'), text('Both.')]];
    const { content, stop } = await answered(isStream, rounds, { tool_choice: SINGLE });
    expect([content, stop, app.fake.requests.length]).toEqual([[use('ask', 'toolu_1'), text('Both.')], 'tool_use', 1]);
  });

  it('[O-03] an answer that obeys is passed on byte for byte', async () => {
    await start();
    for (const [choice, blocks] of [
      [NONE, [thought, text('Done.')]],
      [FORCED, [use('ask')]],
      [SINGLE, [text('So.'), use('write')]],
    ] as const) {
      const body = isStream ? streamed(blocks) : whole(blocks);
      app.fake.reply({ body, headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' } });
      const answer = await ask(app.url, { stream: isStream, tools: TOOLS, tool_choice: choice });
      expect(await answer.text()).toBe(body);
    }
    expect(notes).toEqual([]);
  });
});

it('[O-03] an answer beyond the limit of what is read fails', async () => {
  app = await startMessages(({ baseURL }) => ({
    upstream: anthropicUpstream({ baseURL, apiKey: 'k', retries: 0 }),
    logger: false,
    limits: { model: { outputBytes: 2000 } },
  }));
  const words = Array.from({ length: 100 }, () => 'x'.repeat(50));
  const body = messagesStream([textBlock(0, ...words)]);
  app.fake.reply({ body, headers: { 'content-type': 'text/event-stream' } });
  const answer = await ask(app.url, { stream: true, tools: TOOLS, tool_choice: NONE });
  expect(await answer.text()).toMatch(/"type":"error".*more than the limit/);
});
