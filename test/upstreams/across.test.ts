/** One conversation over two upstreams: what either wrote is taken by the other, and what is its own comes back to it. */

import { anthropicUpstream, BUDGET_THINKING } from 'express-open-responses/upstreams/anthropic';
import { z } from 'zod';
import { chatCompletionsUpstream, memoryStore, type ResponseStore, type Upstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatStream,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { law, same } from '../support/law.ts';
import { askForStream } from '../support/responses-client.ts';
import { streamOf } from './messages-app.ts';
import { messagesStream, textBlock, thinkingBlock, toolBlock } from './messages-bytes.ts';
import { expectMessagesRequest } from './messages-schema.ts';

/** An app over one upstream, and the server behind it. */
interface Side {
  readonly app: App;
  readonly fake: FakeUpstream;
}

let store: ResponseStore;
let chat: Side;
let claude: Side;
let closing: (() => unknown)[];

beforeEach(async () => {
  store = memoryStore();
  closing = [];
  chat = await side((baseURL) => chatCompletionsUpstream({ baseURL, apiKey: 'key', retries: 0 }));
  claude = await side((baseURL) =>
    anthropicUpstream({ baseURL, apiKey: 'key', retries: 0, thinking: BUDGET_THINKING, promptCache: true }),
  );
});
afterEach(() => Promise.all(closing.map((close) => close())));

async function side(make: (baseURL: string) => Upstream): Promise<Side> {
  const fake = await startFakeUpstream();
  const upstream = make(fake.baseURL);
  const app = await startApp({ options: { upstream, store } });
  closing.push(async () => {
    await app.close();
    await Promise.all([upstream.close?.(), fake.close()]);
  });
  return { app, fake };
}

/** A reply for which the request must be one that the server's wire allows; otherwise a 500 says what is wrong. */
function checked(check: (body: unknown) => unknown, reply: FakeReply) {
  return ({ body }: { readonly body: unknown }): FakeReply => {
    check(body);
    return reply;
  };
}

const chatMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string() }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    reasoning_content: z.string().optional(),
    tool_calls: z
      .array(
        z.strictObject({
          id: z.string().min(1).max(40),
          type: z.literal('function'),
          function: z.strictObject({ name: z.string(), arguments: z.string() }),
        }),
      )
      .optional(),
  }),
  z.strictObject({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
]);

/** Throws unless a Chat Completions server would take the messages: each call is followed by its answer. */
function expectChatRequest(body: unknown): void {
  const { messages } = z.looseObject({ messages: z.array(chatMessage) }).parse(body);
  for (const [index, message] of messages.entries()) {
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
    const answers = messages.slice(index + 1, index + 1 + calls.length);
    same(
      answers.map((answer) => answer.role === 'tool' && answer.tool_call_id),
      calls,
      'answers follow their calls',
    );
  }
  law(messages.length > 0, 'there are messages', body);
}

const claudeSays = (...frames: readonly string[]) => checked(expectMessagesRequest, streamOf(messagesStream(frames)));
const chatSays = (...deltas: readonly JsonObject[]) => checked(expectChatRequest, { body: chatStream(...deltas) });

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

/** Asks a side, and goes on from the response before; answers the id and the types of the output. */
async function ask({ app }: Side, input: unknown, previous?: string) {
  const effort = { reasoning: { effort: 'low' } };
  const chained = previous ? { previous_response_id: previous } : {};
  const { response } = await askForStream(app.url, { input, tools: TOOLS, ...effort, ...chained });
  expect(response.error).toBeNull();
  return { id: response.id, types: response.output.map(({ type }) => type) };
}

function answer(id: string): readonly JsonObject[] {
  return [{ type: 'function_call_output', call_id: id, output: `Seen by ${id}.` }];
}

const chatCall = (id: string) => ({
  index: 0,
  id,
  type: 'function',
  function: { name: 'look', arguments: '{"at":1}' },
});

describe('a conversation', () => {
  it('[X-07] begins at a Chat Completions server and goes on at Anthropic, a call in between', async () => {
    chat.fake.reply(chatSays({ reasoning_content: 'I must look.' }, { tool_calls: [chatCall('functions.look:0')] }));
    claude.fake.reply(
      claudeSays(textBlock(0, 'It is foggy.')),
      claudeSays(thinkingBlock(0, 'Hm.', 'c2ln'), textBlock(1, 'Yes.')),
    );
    const first = await ask(chat, 'Look.');
    const second = await ask(claude, answer('functions.look:0'), first.id);
    const third = await ask(claude, 'Sure?', second.id);
    expect([first.types, second.types, third.types]).toEqual([
      ['reasoning', 'function_call'],
      ['message'],
      ['reasoning', 'message'],
    ]);
    expect(
      claude.fake.requests
        .map(({ body }) => expectMessagesRequest(body))
        .map(({ messages, thinking }) => ({ thinking, messages })),
    ).toEqual([
      {
        // No thought of its own led to the call.
        thinking: undefined,
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'functions_look_0', name: 'look', input: { at: 1 } }],
          },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'functions_look_0',
                content: [{ type: 'text', text: 'Seen by functions.look:0.' }],
                cache_control: { type: 'ephemeral' },
              },
            ],
          },
        ],
      },
      { thinking: { type: 'enabled', budget_tokens: 2048 }, messages: expect.any(Array) },
    ]);
  });

  it('[X-07] [S-08] begins at Anthropic, goes on at a Chat Completions server, and comes back with its thoughts', async () => {
    claude.fake.reply(
      claudeSays(thinkingBlock(0, 'I must look.', 'c2ln'), toolBlock(1, 'toolu_1', 'look', '{"at":1}')),
      claudeSays(textBlock(0, 'Still foggy.')),
    );
    chat.fake.reply(checked(expectChatRequest, { body: textStream('It is foggy.') }));
    const first = await ask(claude, 'Look.');
    const second = await ask(chat, answer('toolu_1'), first.id);
    await ask(claude, 'And now?', second.id);
    const [requested] = chat.fake.requests.map(({ body }) => (body as { messages: unknown }).messages);
    const [, again] = claude.fake.requests.map(({ body }) => expectMessagesRequest(body).messages);
    expect({ requested, again: again?.slice(1, 4) }).toEqual({
      requested: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'I must look.',
          tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'Seen by toolu_1.' },
      ],
      again: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I must look.', signature: 'c2ln' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'Seen by toolu_1.' }] },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'It is foggy.' }] },
      ],
    });
  });

  it('[X-07] [P-05] changes sides at every turn, with parallel calls of the same ids', async () => {
    const twice = chatSays({ tool_calls: [chatCall('call_1'), { ...chatCall('call_2'), index: 1 }] });
    const tools = claudeSays(toolBlock(0, 'call_1', 'look', ''), toolBlock(1, 'call_2', 'look', '{}'));
    chat.fake.reply(twice);
    claude.fake.reply(tools);
    const both = [...answer('call_2'), ...answer('call_1')];
    let previous = (await ask(chat, 'Look.')).id;
    for (const turn of [claude, chat, claude, chat]) {
      const { id, types } = await ask(turn, both, previous);
      expect(types).toEqual(['function_call', 'function_call']);
      previous = id;
    }
    expect([chat.fake.requests.length, claude.fake.requests.length]).toEqual([3, 2]);
  });
});
