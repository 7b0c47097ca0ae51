/** Calls that a model server interleaves, on all three APIs: clients receive one after the other. */
import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  messagesRouter,
  responsesRouter,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  type ChatFields,
  chatChunk,
  chatStream,
  type FakeUpstream,
  startFakeUpstream,
} from '../../src/testing/index.ts';
import { type Listening, listening } from '../support/listening.ts';
import { eventsOf } from '../support/request-app.ts';

let fake: FakeUpstream;
let app: Listening;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0 });
  const tools = functionTools({ ours: { execute: () => 'Done.' } });
  const host = express();
  for (const [path, options] of [
    ['/plain', {}],
    ['/tools', { tools: () => [tools] }],
  ] as const) {
    host.use(path, responsesRouter({ upstream, ...options }));
    host.use(path, chatCompletionsRouter({ upstream, ...options }));
    host.use(path, messagesRouter({ upstream, ...options }));
  }
  app = await listening(host);
  closers.push(app.close, () => upstream.close?.(), fake.close);
});
afterAll(() => Promise.all(closers.map((close) => close())));

/** The pieces of calls in the order in which the client receives them. */
type Pieces = readonly (readonly [call: string, text: string])[];

const FUNCTIONS = ['add', 'sub', 'mul'];
const PARAMETERS = { type: 'object', properties: { x: { type: 'number' } } };

const APIS: Readonly<Record<string, (base: string) => Promise<Pieces>>> = {
  '/responses': async (base) => {
    const tools = FUNCTIONS.map((name) => ({ type: 'function', name, parameters: PARAMETERS, strict: false }));
    const names = new Map<unknown, string>();
    return (await events(`${base}/responses`, { input: 'Go.', tools })).flatMap((event) => {
      const { type, item, item_id: id, delta } = event as { item?: JsonObject } & JsonObject;
      if (type === 'response.output_item.added' && item?.type === 'function_call')
        names.set(item.id, `${item.call_id}`);
      if (type === 'response.output_item.done' && item?.type === 'function_call') return [[`${item.call_id}`, 'done']];
      return type === 'response.function_call_arguments.delta' ? [[`${names.get(id)}`, `${delta}`]] : [];
    });
  },
  '/chat/completions': async (base) => {
    const tools = FUNCTIONS.map((name) => ({ type: 'function', function: { name, parameters: PARAMETERS } }));
    const messages = [{ role: 'user', content: 'Go.' }];
    const ids = new Map<unknown, string>();
    return (await events(`${base}/chat/completions`, { messages, tools })).flatMap((chunk) => {
      // The cast: a chunk of the API.
      const [choice] = chunk.choices as readonly { delta: { tool_calls?: readonly ChatPiece[] } }[];
      return (choice?.delta.tool_calls ?? []).map(({ index, id, function: called }) => {
        if (id) ids.set(index, id);
        return [`${ids.get(index)}`, called.arguments ?? ''] as const;
      });
    });
  },
  '/messages': async (base) => {
    const tools = FUNCTIONS.map((name) => ({ name, input_schema: PARAMETERS }));
    const body = { messages: [{ role: 'user', content: 'Go.' }], max_tokens: 100, tools };
    let id = '';
    return (await events(`${base}/messages`, body)).flatMap((event) => {
      const { content_block: block, delta } = event as Readonly<Record<string, JsonObject | undefined>>;
      if (block?.type === 'tool_use') id = `${block.id}`;
      return delta?.type === 'input_json_delta' ? [[id, `${delta.partial_json}`]] : [];
    });
  },
};

interface ChatPiece {
  readonly index: number;
  readonly id?: string;
  readonly function: { readonly arguments?: string };
}

async function events(url: string, body: JsonObject): Promise<readonly JsonObject[]> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake-model', stream: true, ...body }),
  });
  expect(answer.status).toBe(200);
  return eventsOf(await answer.text());
}

function calls(...tool_calls: readonly object[]): ChatFields {
  return { tool_calls };
}

function begin(index: number, id: string, name: string, text = '', more: object = {}): object {
  return { index, id, type: 'function', function: { name, arguments: text }, ...more };
}

function more(index: number, text: string): object {
  return { index, function: { arguments: text } };
}

const TWO = { a: '{"x":1}', b: '{"x":2}' };

const WAYS: readonly (readonly [how: string, stream: string, expected: Readonly<Record<string, string>>])[] = [
  [
    'in each chunk',
    chatStream(
      calls(begin(0, 'a', 'add', '{"x"'), begin(1, 'b', 'sub', '{"x"')),
      calls(more(1, ':2'), more(0, ':1')),
      calls(more(0, '}'), more(1, '}')),
    ),
    TWO,
  ],
  [
    'a chunk each, after both were opened',
    chatStream(
      calls(begin(0, 'a', 'add')),
      calls(begin(1, 'b', 'sub')),
      calls(more(1, '{"x":')),
      calls(more(0, '{"x"')),
      calls(more(1, '2}')),
      calls(more(0, ':')),
      calls(more(0, '1}')),
    ),
    TWO,
  ],
  [
    'with an end in the chunk of the last pieces',
    chatChunk(calls(begin(0, 'a', 'add', '{"x"'), begin(1, 'b', 'sub', '{"x":'))) +
      chatChunk(calls(more(0, ':1}'), more(1, '2}')), { finish_reason: 'tool_calls' }) +
      'data: [DONE]\n\n',
    TWO,
  ],
  [
    'three at a time, the last of which is whole first',
    chatStream(
      calls(begin(0, 'a', 'add', '{"x"')),
      calls(begin(1, 'b', 'sub', '{"x"')),
      calls(begin(2, 'c', 'mul', '{"x":3}')),
      calls(more(1, ':2}')),
      calls(more(0, ':1}')),
    ),
    { ...TWO, c: '{"x":3}' },
  ],
  [
    'and one without arguments first',
    chatStream(calls(begin(0, 'a', 'add')), calls(begin(1, 'b', 'sub', '{"x"')), calls(more(1, ':2}'))),
    { a: '', b: '{"x":2}' },
  ],
];

describe.each(Object.keys(APIS))('%s', (api) => {
  describe.each(['/plain', '/tools'])('below %s', (base) => {
    it.each(WAYS)(
      '[V-31] hands on one call after the other, which a server interleaves %s',
      async (_, body, expected) => {
        fake.reply({ body });
        const pieces = (await APIS[api]?.(app.url + base)) ?? [];
        const order = pieces.map(([id]) => id).filter((id, at, all) => id !== all[at - 1]);
        const texts: Record<string, string> = {};
        for (const [id, text] of pieces) if (text !== 'done') texts[id] = (texts[id] ?? '') + text;
        expect(order).toEqual(Object.keys(expected));
        // A call without arguments is one with `{}` on the APIs that this server writes itself.
        for (const [id, text] of Object.entries(expected)) expect(texts[id] === '{}' ? '' : texts[id]).toBe(text);
      },
    );
  });
});
