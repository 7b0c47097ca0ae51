/** Ways of cutting calls into chunks that servers are known for, where the calls are the server's, the client's or both. */

import { functionTools, type ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type ChatFields, chatChunk, chatStream, textStream } from '../../../src/testing/index.ts';
import { type ChatApp, gathered, type Reported, requestedOf, startChatApp, streamed, whole } from './chat-app.ts';

const ADD = { id: 'a', name: 'add', arguments: '{"x":1}' };
const SUB = { id: 'b', name: 'sub', arguments: '{"x":2}' };
const OWN_ID = expect.stringMatching(/^call_[\da-f]{32}$/);

let app: ChatApp;
let tools: ToolProvider;
let ran: unknown[];

beforeAll(async () => {
  app = await startChatApp({ tools: () => [tools] });
});
afterAll(() => app.close());

/** The server owns these of the tools; the model makes the calls, then says "Done." */
function play(owned: readonly string[], deltas: readonly ChatFields[]): void {
  own(...owned);
  answer(chatStream(...deltas));
}

function own(...names: readonly string[]): void {
  ran = [];
  const note = (name: string) => ({ execute: (args: JsonObject) => void ran.push([name, args.x]) });
  tools = functionTools(Object.fromEntries(names.map((name) => [name, note(name)])));
}

/** Once: with the results of calls before it, the model says "Done." */
function answer(stream: string): void {
  app.fake.reply(({ body }) => ({ body: hasResults(body as Requested) ? textStream('Done.') : stream }));
}

interface Requested {
  readonly messages: readonly JsonObject[];
}

function hasResults({ messages }: Requested): boolean {
  return messages.some(({ role }) => role === 'tool');
}

const ANSWERED: Reported = { content: 'Done.', calls: [], finish: 'stop' };
const handedOut = (...calls: Reported['calls']): Reported => ({ content: null, calls, finish: 'tool_calls' });

const BY_INDEX: readonly (readonly [how: string, deltas: readonly ChatFields[]])[] = [
  [
    'are interleaved',
    [
      calls(piece(0, 'a', 'add', '{"x"'), piece(1, 'b', 'sub', '{"x"')),
      calls(piece(1, undefined, undefined, ':2}'), piece(0, undefined, undefined, ':1}')),
    ],
  ],
  [
    'are interleaved after both were opened',
    [
      calls(piece(0, 'a', 'add', ''), piece(1, 'b', 'sub', '')),
      calls(piece(0, undefined, undefined, '{"x"')),
      calls(piece(1, undefined, undefined, '{"x"')),
      calls(piece(0, undefined, undefined, ':1}')),
      calls(piece(1, undefined, undefined, ':2}')),
    ],
  ],
  ['are whole in one chunk', [calls(piece(0, 'a', 'add', '{"x":1}'), piece(1, 'b', 'sub', '{"x":2}'))]],
  [
    'meet in a chunk that ends one and opens the other',
    [
      calls(piece(0, 'a', 'add', '{"x"')),
      calls(piece(0, undefined, undefined, ':1}'), piece(1, 'b', 'sub', '')),
      calls(piece(1, undefined, undefined, '{"x":2}')),
    ],
  ],
  [
    'have their names in every chunk',
    [
      calls(piece(0, 'a', 'add', '')),
      calls(piece(0, 'a', 'add', '{"x"')),
      calls(piece(0, 'a', 'add', ':1}')),
      calls(piece(1, 'b', 'sub', '')),
      calls(piece(1, 'b', 'sub', '{"x":2}')),
    ],
  ],
  [
    'have their arguments behind an empty piece',
    [
      calls(piece(0, 'a', 'add', '')),
      calls(piece(0, undefined, undefined, '')),
      calls(piece(0, undefined, undefined, '{"x":1}')),
      calls(piece(0, undefined, undefined, '')),
      calls(piece(1, 'b', 'sub', null)),
      calls(piece(1, undefined, undefined, '{"x":2}')),
    ],
  ],
  [
    'have an id before their name',
    [
      calls(piece(0, 'a', undefined, '')),
      calls(piece(0, undefined, 'add', '')),
      calls(piece(0, undefined, undefined, '{"x":1}')),
      calls(piece(1, 'b', undefined, undefined)),
      calls(piece(1, undefined, 'sub', '{"x":2}')),
    ],
  ],
  [
    'are counted from 5',
    [
      calls(piece(5, 'a', 'add', '{"x"')),
      calls(piece(6, 'b', 'sub', '{"x":')),
      calls(piece(5, undefined, undefined, ':1}')),
      calls(piece(6, undefined, undefined, '2}')),
    ],
  ],
  [
    'are counted backwards',
    [
      calls(piece(1, 'a', 'add', '{"x"')),
      calls(piece(0, 'b', 'sub', '{"x":2}')),
      calls(piece(1, undefined, undefined, ':1}')),
    ],
  ],
];

/** What openai-node alone cannot put together, as long as the chunks are the model server's. */
const OTHERWISE: readonly (readonly [how: string, deltas: readonly ChatFields[]])[] = [
  [
    'have neither index nor number',
    [calls(piece(undefined, 'a', 'add', '{"x":1}')), calls(piece(undefined, 'b', 'sub', '{"x":2}'))],
  ],
  [
    'are distinguished by their ids alone',
    [
      calls(piece(0, 'a', 'add', '')),
      calls(piece(0, 'a', undefined, '{"x":1}')),
      calls(piece(0, 'b', 'sub', '')),
      calls(piece(0, 'b', undefined, '{"x":2}')),
    ],
  ],
  [
    'have split names',
    [
      calls(piece(0, 'a', 'a', '')),
      calls(piece(0, undefined, 'dd', '')),
      calls(piece(0, undefined, undefined, '{"x":1}')),
      calls(piece(1, 'b', 's', '')),
      calls(piece(1, undefined, 'ub', '{"x":2}')),
    ],
  ],
  ['have objects for arguments', [calls(piece(0, 'a', 'add', { x: 1 }), piece(1, 'b', 'sub', { x: 2 }))]],
];

describe.each([...BY_INDEX, ...OTHERWISE])('two calls that %s', (_how, deltas) => {
  it('[P-05] [T-02] both run where both are the server’s', async () => {
    play(['add', 'sub'], deltas);
    const reported = await streamed(app.url);
    const first = ran;
    play(['add', 'sub'], deltas);
    const expected = {
      reported: ANSWERED,
      ran: [
        ['add', 1],
        ['sub', 2],
      ],
    };
    expect([
      { reported, ran: first },
      { reported: await whole(app.url), ran },
    ]).toEqual([expected, expected]);
  });

  it('[P-05] [A-29] run and are handed out where one is the server’s and one the client’s, in JSON', async () => {
    play(['add'], deltas);
    expect({ reported: await whole(app.url), ran }).toEqual({ reported: handedOut(SUB), ran: [['add', 1]] });
    play(['sub'], deltas);
    expect({ reported: await whole(app.url), ran }).toEqual({ reported: handedOut(ADD), ran: [['sub', 2]] });
  });

  it('[P-05] [A-29] run and are handed out where the client’s follows the server’s, in a stream', async () => {
    play(['add'], deltas);
    expect({ reported: await streamed(app.url), ran }).toEqual({ reported: handedOut(SUB), ran: [['add', 1]] });
  });
});

it.each(BY_INDEX)(
  '[P-05] [A-29] hands out a call that a call of the server’s follows, where they %s',
  async (_how, deltas) => {
    play(['sub'], deltas);
    expect({ reported: await gathered(app.url), ran }).toEqual({ reported: handedOut(ADD), ran: [['sub', 2]] });
  },
);

it('[P-05] [A-29] gives a client’s call a number of its own, though the server’s calls before it have none there', async () => {
  const deltas = [
    calls(piece(1, 'c', 'theirs', '{"x":3}')),
    calls(piece(2, 'a', 'add', '{"x":1}')),
    calls(piece(3, 'd', 'theirs', '{"x":4}')),
  ];
  play(['add'], deltas);
  const theirs = [
    { id: 'c', name: 'theirs', arguments: '{"x":3}' },
    { id: 'd', name: 'theirs', arguments: '{"x":4}' },
  ];
  expect({ reported: await gathered(app.url), ran }).toEqual({ reported: handedOut(...theirs), ran: [['add', 1]] });
});

it('[P-05] gives calls ids where they have none, or all the same', async () => {
  play(
    ['add', 'sub'],
    [
      calls(piece(0, 'a', 'add', '{"x":1}')),
      calls(piece(1, 'a', 'sub', '{"x":2}')),
      calls(piece(2, '', 'sub', '{"x":3}')),
    ],
  );
  expect(await streamed(app.url)).toEqual(ANSWERED);
  const [requested = {}, ...answered] = requestedOf(app).messages.slice(1);
  const ids = (requested.tool_calls as readonly JsonObject[]).map(({ id }) => id);
  expect({ ids, answered: answered.map(({ tool_call_id: id }) => id), different: new Set(ids).size }).toEqual({
    ids: ['a', OWN_ID, OWN_ID],
    answered: ids,
    different: 3,
  });
});

it('[P-05] [A-29] hands out a call without arguments as one with {}, behind one of the server’s', async () => {
  play(['add'], [calls(piece(0, 'a', 'add', '{"x":1}')), calls(piece(1, 'b', 'sub', ''))]);
  expect(await streamed(app.url)).toEqual(handedOut({ ...SUB, arguments: '{}' }));
});

it('[P-05] [T-02] runs a call where the answer ends with finish_reason stop', async () => {
  own('add');
  const body = chatStream({ role: 'assistant' }, calls(piece(0, 'a', 'add', '{"x":1}')));
  answer(body.replace('"finish_reason":"tool_calls"', '"finish_reason":"stop"'));
  expect({ reported: await streamed(app.url), ran }).toEqual({ reported: ANSWERED, ran: [['add', 1]] });
});

it('[P-05] [A-29] shows the client who speaks, though it saw nothing of the chunk that named the role', async () => {
  own('add');
  const both = calls(piece(0, 'a', 'add', '{"x":1}'), piece(1, 'b', 'sub', '{"x":2}'));
  // Azure's streams begin so.
  const filtered = chatChunk({}, { id: '', choices: [], prompt_filter_results: [] });
  answer(filtered + chatStream({ role: 'assistant', ...both }));
  expect(await streamed(app.url)).toEqual(handedOut(SUB));
});

function calls(...entries: readonly object[]): ChatFields {
  return { tool_calls: entries };
}

/** A piece of a call; what is undefined is absent. */
function piece(index: number | undefined, id: string | undefined, name: string | undefined, text: unknown): object {
  return { index, id, type: 'function', function: { name, arguments: text } };
}
