/** Ways of cutting tool calls into chunks that servers are known for and no recording has, through a real app. */
import { type ChatFields, chatStream } from '../../src/testing/index.ts';
import type { Segment } from '../support/naive-chat.ts';
import { readingOf } from '../support/recordings.ts';
import { eventStream, type Replay, startReplay } from '../support/replay.ts';
import { askForStream } from '../support/responses-client.ts';

const A = { id: 'a', name: 'add', arguments: '{"x":1}' };
const B = { id: 'b', name: 'sub', arguments: '{"x":2}' };
const WITHOUT_IDS = [
  { ...A, id: '' },
  { ...B, id: '' },
];

let replay: Replay;

beforeAll(async () => {
  replay = await startReplay();
});
afterAll(() => replay.close());

describe('two calls, through an Express app', () => {
  it.each<readonly [how: string, deltas: readonly ChatFields[], calls: readonly object[]]>([
    [
      'whose arguments are interleaved',
      [
        calls(piece(0, 'a', 'add', '{"x"'), piece(1, 'b', 'sub', '{"x"')),
        calls(piece(1, undefined, undefined, ':2}'), piece(0, undefined, undefined, ':1}')),
      ],
      [A, B],
    ],
    [
      'in one chunk with neither index nor id',
      [calls(piece(undefined, undefined, 'add', '{"x":1}'), piece(undefined, undefined, 'sub', '{"x":2}'))],
      WITHOUT_IDS,
    ],
    [
      'without arguments, one after the other',
      [calls(piece(0, 'a', 'add', '')), calls(piece(1, 'b', 'sub', ''))],
      [
        { ...A, arguments: '{}' },
        { ...B, arguments: '{}' },
      ],
    ],
    [
      'that both begin before either has arguments',
      [
        calls(piece(0, 'a', 'add', ''), piece(1, 'b', 'sub', '')),
        calls(piece(1, undefined, undefined, '{"x":2}')),
        calls(piece(0, undefined, undefined, '{"x":1}')),
      ],
      [A, B],
    ],
    [
      'in one chunk with neither index, id nor arguments',
      [calls(piece(undefined, undefined, 'add', ''), piece(undefined, undefined, 'sub', undefined))],
      WITHOUT_IDS.map((call) => ({ ...call, arguments: '{}' })),
    ],
    [
      'in two chunks with neither index nor id',
      [calls(piece(undefined, undefined, 'add', '{"x":1}')), calls(piece(undefined, undefined, 'sub', '{"x":2}'))],
      WITHOUT_IDS,
    ],
    [
      'that are cut, with ids and no index',
      [
        calls(piece(undefined, 'a', 'add', '{"x"')),
        calls(piece(undefined, 'a', undefined, ':1}')),
        calls(piece(undefined, 'b', 'sub', '{"x"')),
        calls(piece(undefined, undefined, undefined, ':2}')),
      ],
      [A, B],
    ],
    [
      'whose names are repeated in every chunk',
      [
        calls(piece(0, 'a', 'add', '')),
        calls(piece(0, 'a', 'add', '{"x"')),
        calls(piece(0, 'a', 'add', ':1}')),
        calls(piece(1, 'b', 'sub', '{"x":2}')),
      ],
      [A, B],
    ],
    [
      'one of whose names is split',
      [
        calls(piece(0, 'a', 'a', '')),
        calls(piece(0, undefined, 'dd', '')),
        calls(piece(0, undefined, undefined, '{"x":1}')),
        calls(piece(1, 'b', 'sub', '{"x":2}')),
      ],
      [A, B],
    ],
    [
      'one of which has another id in every chunk',
      [
        calls(piece(0, 'a', 'add', '{"x"')),
        calls(piece(0, 'a2', undefined, ':1}')),
        calls(piece(1, 'b', 'sub', '{"x":2}')),
      ],
      [A, B],
    ],
    [
      'that have the same id',
      [calls(piece(0, 'a', 'add', '{"x":1}')), calls(piece(1, 'a', 'sub', '{"x":2}'))],
      [A, { ...B, id: '' }],
    ],
    [
      'that begin with an empty object',
      [
        calls(piece(0, 'a', 'add', '{}')),
        calls(piece(0, undefined, undefined, '{"x":1}')),
        calls(piece(1, 'b', 'sub', '{}')),
        calls(piece(1, undefined, undefined, '{"x"')),
        calls(piece(1, undefined, undefined, ':2}')),
      ],
      [A, B],
    ],
    [
      'the second of which comes once more as JSON of its text',
      [
        calls(piece(0, 'a', 'add', '{"x":1}')),
        calls(piece(1, 'b', 'sub', '{"x":2}')),
        calls(piece(1, 'b', 'sub', JSON.stringify('{"x":2}'))),
      ],
      [A, B],
    ],
    [
      'each piece of which has the name and an id of its own',
      [
        calls(piece(0, 'a', 'add', '{"x"')),
        calls(piece(0, 'a2', 'add', ':1}')),
        calls(piece(1, 'b', 'sub', '{"x"')),
        calls(piece(1, 'b2', 'sub', ':2}')),
      ],
      [A, B],
    ],
    [
      'whose arguments have their id, and another index',
      [
        calls(piece(0, 'a', 'add', '')),
        calls(piece(1, 'a', undefined, '{"x":1}')),
        calls(piece(2, 'b', 'sub', '')),
        calls(piece(3, 'b', undefined, '{"x":2}')),
      ],
      [A, B],
    ],
    [
      'whose indices are text',
      [
        calls({ ...piece(0, 'a', 'add', '{"x"'), index: '0' }, { ...piece(1, 'b', 'sub', '{"x"'), index: '1' }),
        calls({ ...piece(0, undefined, undefined, ':1}'), index: '0' }),
        calls({ ...piece(1, undefined, undefined, ':2}'), index: '1' }),
      ],
      [A, B],
    ],
    [
      'that are interleaved at one index, with their ids',
      [
        calls(piece(0, 'a', 'add', '{"x"')),
        calls(piece(0, 'b', 'sub', '{"x"')),
        calls(piece(0, 'a', undefined, ':1}')),
        calls(piece(0, 'b', undefined, ':2}')),
      ],
      [A, B],
    ],
    [
      'with neither index nor id, whose names come in chunks of their own',
      [
        calls(piece(undefined, undefined, 'add', '')),
        calls(piece(undefined, undefined, undefined, '{"x":1}')),
        calls(piece(undefined, undefined, 'sub', '')),
        calls(piece(undefined, undefined, undefined, '{"x":2}')),
      ],
      WITHOUT_IDS,
    ],
    [
      'one of which is no function, and the other has parameters for arguments',
      [calls(A), calls({ index: 1, id: 'b', type: 'function', function: { name: 'sub', parameters: { x: 2 } } })],
      [A, B],
    ],
    ['whose arguments are objects', [calls(piece(0, 'a', 'add', { x: 1 }), piece(1, 'b', 'sub', { x: 2 }))], [A, B]],
    [
      'that start at a high index',
      [calls(piece(1e9, 'a', 'add', '{"x":1}')), calls(piece(7, 'b', 'sub', '{"x":2}'))],
      [A, B],
    ],
  ])('[P-05] [V-19] [C-02] [C-03] [C-04] [C-15] stay two calls %s', async (_how, deltas, expected) => {
    expect(await written(deltas)).toEqual(expected.map((call) => ({ call })));
  });

  it('[P-02] [P-05] stand where they began, the first without arguments before the text after it', async () => {
    const deltas = [
      calls(piece(0, 'a', 'add', '')),
      { content: ' then ' },
      calls(piece(1, 'b', 'sub', '{"x":2}')),
      { content: 'done' },
    ];
    const none = { ...A, arguments: '{}' };
    expect(await written(deltas)).toEqual([{ call: none }, { text: ' then ' }, { call: B }, { text: 'done' }]);
  });
});

/** What the app makes of the deltas; the laws of the wire are checked on the way. */
async function written(deltas: readonly ChatFields[]): Promise<readonly Segment[]> {
  replay.fake.reply(eventStream(chatStream(...deltas)));
  const { response } = await askForStream(replay.url);
  return readingOf(response).segments;
}

function calls(...entries: readonly object[]): ChatFields {
  return { tool_calls: entries };
}

/** A piece of a call; what is undefined is absent. */
function piece(index: number | undefined, id: string | undefined, name: string | undefined, text: unknown): object {
  return { index, id, type: 'function', function: { name, arguments: text } };
}
