/** Which conversations are repaired and how, and the laws that hold for any mess. */

import fc from 'fast-check';
import { repairMessages } from '../../../src/apis/chat-completions/request/repair.ts';
import { rejectFirst } from '../../../src/engine/history/repair.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

const NOTHING = '(no output was recorded)';
const ask = { role: 'user', content: 'Go.' };

function call(id: unknown, name: unknown = 'add', text: unknown = '{"a":1}'): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } };
}

function calls(...made: readonly JsonObject[]): JsonObject {
  return { role: 'assistant', content: null, tool_calls: made };
}

function result(id: unknown, content = `of ${id}`): JsonObject {
  return { role: 'tool', tool_call_id: id, content };
}

function says(content: unknown, more: JsonObject = {}): JsonObject {
  return { role: 'assistant', content, ...more };
}

/** What comes out, and each repair as its code and place. */
function repaired(...messages: readonly unknown[]) {
  const { list, repairs } = repairMessages(messages);
  return { list, repairs: repairs.map(({ code, index }) => `${code} ${index}`) };
}

describe('repairMessages', () => {
  it('[A-24] leaves a conversation that model servers take as the very list that it is', () => {
    const conversations = [
      [],
      [ask],
      [{ role: 'system', content: 's' }, ask, says('Hi'), ask],
      [ask, calls(call('a'), call('b', 'add', '{}')), result('b'), result('a'), says('Done', { name: 'bot' })],
      [ask, calls(call('a')), result('a'), ask, calls(call('a')), result('a')],
      [says(null, { refusal: 'No.' }), ask, says(null, { audio: { id: 'audio_1' } })],
      [says(null, { function_call: { name: 'f', arguments: '{}' } }), { role: 'function', name: 'f', content: '1' }],
      [calls({ id: 'c', type: 'custom', custom: { name: 'grep', input: 'not JSON' } }), result('c')],
    ];
    const kept = conversations.map((messages) => repairMessages(messages));
    expect(kept.map(({ repairs }) => repairs)).toEqual(conversations.map(() => []));
    expect(kept.map(({ list }, at) => list === conversations[at])).toEqual(conversations.map(() => true));
  });

  const repairs: readonly (readonly [string, readonly unknown[], readonly unknown[], readonly string[]])[] = [
    [
      'drops a second result of a call',
      [calls(call('a')), result('a'), result('a', 'again')],
      [calls(call('a')), result('a')],
      ['duplicate_output 2'],
    ],
    ['drops a result that no call stands before', [ask, result('a')], [ask], ['orphan_output 1']],
    [
      'drops a result that stands before its call, which then has none',
      [result('a'), calls(call('a'))],
      [calls(call('a')), result('a', NOTHING)],
      ['orphan_output 0', 'missing_output 1'],
    ],
    [
      'fills in results that nobody sent, each behind its own call',
      [calls(call('a'), call('b')), result('b'), ask],
      [calls(call('a'), call('b')), result('a', NOTHING), result('b'), ask],
      ['missing_output 0'],
    ],
    [
      'puts a result back behind its call',
      [calls(call('a')), ask, result('a')],
      [calls(call('a')), result('a'), ask],
      ['misplaced_output 2'],
    ],
    [
      'gives a call and its result an id where both have none',
      [calls(call(undefined), call('')), { role: 'tool', content: '1' }, { role: 'tool', content: '2' }],
      [calls(call('call_0_0'), call('call_0_1')), result('call_0_0', '1'), result('call_0_1', '2')],
      ['missing_id 0', 'missing_id 0', 'missing_id 1', 'missing_id 2'],
    ],
    [
      'writes arguments that are no JSON object as an object',
      [calls(call('a', 'add', '{"a":'), call('b', 'add', { a: 1 }), call('c', 'add', '[1]'), call('d', 'add', null))],
      [
        calls(call('a', 'add', '{}'), call('b'), call('c', 'add', '{}'), call('d', 'add', '{}')),
        ...['a', 'b', 'c', 'd'].map((id) => result(id, NOTHING)),
      ],
      [...Array(4).fill('bad_arguments 0'), ...Array(4).fill('missing_output 0')],
    ],
    [
      'drops calls that name no function, and what is no call',
      [ask, calls(call('a', ''), { id: 'b', type: 'function' }, call('c'), 7 as never), result('a'), result('c')],
      [ask, calls(call('c')), result('c')],
      ['empty_name 1', 'empty_name 1', 'empty_name 1', 'orphan_output 2'],
    ],
    [
      'drops an empty name, and keeps the message',
      [{ role: 'user', name: '', content: 'Go.' }],
      [ask],
      ['empty_name 0'],
    ],
    [
      'drops assistant messages that say nothing, such as those of which no call is left',
      [ask, says(''), ask, says(null), ask, calls(call('a', ''))],
      [ask, ask, ask],
      ['empty_message 1', 'empty_message 3', 'empty_name 5', 'empty_message 5'],
    ],
    [
      'drops what is no message',
      [null, 'Go.', [], { content: 'x' }, ask],
      [ask],
      [0, 1, 2, 3].map((at) => `not_a_message ${at}`),
    ],
    [
      '[P-06] makes one message of neighbouring ones, their calls parallel',
      [says('One'), calls(call('a')), calls(call('b')), result('b'), result('a')],
      [says('One', { tool_calls: [call('a'), call('b')] }), result('a'), result('b')],
      ['split_message 1', 'split_message 2'],
    ],
    [
      'joins words with words and parts with parts, and unsays nothing',
      [
        says('One', { refusal: 'No.' }),
        says([{ type: 'text', text: 'Two' }], { refusal: null }),
        ask,
        says('A'),
        says('B'),
      ],
      [
        says(
          [
            { type: 'text', text: 'One' },
            { type: 'text', text: 'Two' },
          ],
          { refusal: 'No.' },
        ),
        ask,
        says('A\nB'),
      ],
      ['split_message 1', 'split_message 4'],
    ],
    [
      'makes one message of those that become neighbours because a result between them goes',
      [says('One'), result('x'), says('Two', { tool_calls: [call('a')] }), result('a')],
      [says('One\nTwo', { tool_calls: [call('a')] }), result('a')],
      ['orphan_output 1', 'split_message 2'],
    ],
    [
      'gives calls of one message that share an id a result each, in their order',
      [calls(call('a', 'one'), call('a', 'two')), result('a', '1'), result('a', '2'), result('a', '3')],
      [calls(call('a', 'one'), call('a', 'two')), result('a', '1'), result('a', '2')],
      ['duplicate_output 3'],
    ],
    [
      'leaves calls that are not the assistant’s unanswered',
      [{ ...ask, tool_calls: [call('a')] }, result('a')],
      [{ ...ask, tool_calls: [call('a')] }],
      ['orphan_output 1'],
    ],
  ];

  for (const [name, messages, list, reported] of repairs)
    it(`[A-24] ${name}`, () => {
      expect(repaired(...messages)).toEqual({ list, repairs: reported });
    });

  it('[A-24] names place and reason of each repair, in the order of the list', () => {
    const { repairs } = repairMessages([calls(call('a')), calls(call('b', 'add', '!')), result('b')]);
    expect(repairs).toEqual([
      { code: 'missing_output', index: 0, param: 'messages[0]', message: "the tool call 'a' of 'add' has no result." },
      {
        code: 'bad_arguments',
        index: 1,
        param: 'messages[1]',
        message: "the arguments of 'add' are not a JSON object.",
      },
      { code: 'split_message', index: 1, param: 'messages[1]', message: 'it follows another assistant message.' },
    ]);
  });

  it('[A-24] returns the original index of each entry', () => {
    const { places } = repairMessages([null, ask, says('A'), says('B', { tool_calls: [call('a')] }), ask]);
    expect(places).toEqual([1, 2, -1, 4]);
  });

  it('[A-24] rejects with the first fault of the list, in its own code', () => {
    const refused = (...messages: readonly unknown[]) => {
      try {
        rejectFirst(repairMessages(messages).repairs);
        return 'taken';
      } catch (error) {
        const { code, status, param } = error as JsonObject;
        return { code, status, param };
      }
    };
    expect([
      refused(ask, says('A'), says('B')),
      refused(ask, calls(call('a')), calls(call('b', 'add', '!')), result('b')),
      refused(says('A'), says('B'), result('x')),
      refused(ask, 7),
    ]).toEqual([
      'taken',
      { code: 'tool_output_missing', status: 400, param: 'messages[1]' },
      { code: 'tool_call_not_found', status: 400, param: 'messages[2]' },
      { code: 'invalid_type', status: 400, param: 'messages[1]' },
    ]);
  });

  it('[Q-06] gets through a hundred thousand messages, whatever their calls and results', () => {
    const many = 50_000;
    const ids = Array.from({ length: many }, (_, at) => `c${at}`);
    const lists = [
      [calls(...ids.map((id) => call(id))), ...ids.map((id) => result(id))],
      ids.flatMap((id) => [calls(call(id)), says('x')]),
      [calls(...ids.map(() => call('same'))), ...ids.map(() => result('same'))],
      [...ids.map((id) => calls(call(id))), ...ids.map(() => ({ role: 'tool', content: 'x' }))],
    ];
    expect(lists.map((list) => repairMessages(list).list.length)).toEqual([many + 1, many + 1, many + 1, many + 1]);
  });
});

/** Throws unless a model server would take the messages; knows nothing of how they are repaired. */
function check(messages: readonly unknown[]): void {
  let owed: unknown[] = [];
  let last: unknown;
  for (const [at, each] of messages.entries()) {
    const message = each as JsonObject & { readonly tool_calls?: readonly JsonObject[] };
    if (typeof message.role !== 'string') throw new Error(`${at} is no message`);
    if (message.name === '') throw new Error(`${at} has an empty name`);
    if (message.role === 'tool') {
      const place = owed.indexOf(message.tool_call_id);
      if (place < 0) throw new Error(`${at} answers no call of the message before it`);
      owed.splice(place, 1);
      last = 'tool';
      continue;
    }
    if (owed.length > 0) throw new Error(`${at} comes before the results of ${owed}`);
    if (message.role === 'assistant' && !message.function_call && last === 'assistant')
      throw new Error(`${at} follows another assistant message`);
    last = message.function_call ? 'function_call' : message.role;
    if (message.role !== 'assistant') continue;
    if (!message.content && !message.tool_calls?.length && !message.function_call && !message.refusal)
      throw new Error(`${at} says nothing`);
    owed = (message.tool_calls ?? []).map((made) => checkedId(made, at));
  }
  if (owed.length > 0) throw new Error(`no results of ${owed}`);
}

function checkedId({ id, function: called }: JsonObject, at: number): unknown {
  const { name, arguments: text } = called as JsonObject;
  if (typeof id !== 'string' || id === '') throw new Error(`a call of ${at} has no id`);
  if (typeof name !== 'string' || name === '') throw new Error(`a call of ${at} has no name`);
  const value: unknown = JSON.parse(text as string);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`a call of ${at} has no object`);
  return id;
}

const id = fc.constantFrom('a', 'b', 'c', '', undefined);
const anyCall = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(id, fc.constantFrom('add', 'look'), fc.constantFrom('{}', '{"a":1}', '{', '', null, { a: 1 }))
      .map((made) => call(...made)),
  },
  { weight: 1, arbitrary: fc.constantFrom(call('a', ''), { id: 'a', type: 'function' }, null as never, {}) },
);
const words = fc.constantFrom('', 'x', null, undefined, [{ type: 'text', text: 'y' }]);
const anyMessage = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      role: fc.constant('assistant'),
      content: words,
      tool_calls: fc.array(anyCall, { maxLength: 3 }),
    }),
  },
  { weight: 5, arbitrary: id.map((of) => result(of)) },
  { weight: 2, arbitrary: fc.nat(99).map((at) => ({ role: 'user', content: `user ${at}` })) },
  { weight: 2, arbitrary: words.map((content) => says(content)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      null,
      7,
      {},
      { role: 'user', name: '', content: 'n' },
      { ...ask, tool_calls: [call('a')] },
      says(null, { function_call: { name: 'f', arguments: '{}' } }),
      { role: 'function', name: 'f', content: '1' },
    ),
  },
);
const mess = fc.array(anyMessage, { maxLength: 12 });

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value : [];
}

function userTexts(messages: readonly unknown[]): readonly unknown[] {
  return messages.flatMap((message) =>
    (message as JsonObject | null)?.role === 'user' ? [(message as JsonObject).content] : [],
  );
}

/** The assistant's calls that nothing is wrong with. */
function validCalls(messages: readonly unknown[]): readonly unknown[] {
  const own = messages.filter((message) => (message as JsonObject | null)?.role === 'assistant');
  return own
    .flatMap((message) => list((message as JsonObject).tool_calls))
    .filter(
      (made) =>
        made?.id && (made.function as JsonObject)?.name && isObjectText((made.function as JsonObject).arguments),
    );
}

function isObjectText(text: unknown): boolean {
  return text === '{}' || text === '{"a":1}';
}

describe('laws of repairMessages', () => {
  it('[A-24] [P-06] what comes out is taken by a strict server, whatever went in', () => {
    fc.assert(
      fc.property(mess, (messages) => check(repairMessages(messages).list)),
      { numRuns: 3000 },
    );
  });

  it('[A-24] repairs nothing twice: what comes out is left as the very list that it is', () => {
    fc.assert(
      fc.property(mess, (messages) => {
        const once = repairMessages(messages).list;
        const twice = repairMessages(once);
        expect(twice.repairs).toEqual([]);
        expect(twice.list).toBe(once);
      }),
      { numRuns: 3000 },
    );
  });

  it('[A-24] loses no text of the user’s and no call that is whole', () => {
    fc.assert(
      fc.property(mess, (messages) => {
        const { list } = repairMessages(messages);
        expect(userTexts(list)).toEqual(userTexts(messages));
        // Calls without an id, or with bad arguments, are whole afterwards, so there may be more.
        expect(validCalls(list)).toEqual(expect.arrayContaining([...validCalls(messages)]));
      }),
      { numRuns: 1000 },
    );
  });

  it('[A-24] never throws, and changes nothing that it was given', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyMessage, fc.anything())), (messages) => {
        const before = structuredClone(messages);
        repairMessages(messages);
        expect(messages).toEqual(before);
      }),
    );
  });

  it('[A-24] refuses exactly what a repair other than joining messages was needed for, at its first place', () => {
    fc.assert(
      fc.property(mess, (messages) => {
        const { repairs } = repairMessages(messages);
        const faults = repairs.filter(({ code }) => code !== 'split_message').map(({ index }) => index);
        const first = faults.length === 0 ? undefined : `messages[${Math.min(...faults)}]`;
        let refused: unknown;
        try {
          rejectFirst(repairs);
        } catch (error) {
          refused = (error as JsonObject).param;
        }
        expect(refused).toBe(first);
      }),
    );
  });
});
