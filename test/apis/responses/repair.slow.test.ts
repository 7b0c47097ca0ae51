/** Which input is repaired and how, and the law that what comes out can be written for any model. */

import fc from 'fast-check';
import { repairInput } from '../../../src/apis/responses/repair.ts';
import { rejectFirst } from '../../../src/engine/history/repair.ts';
import { toChatMessages } from '../../../src/protocol/chat-completions/messages.ts';
import type { Item } from '../../../src/protocol/items.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { inputItems } from '../../../src/protocol/responses/input-items.ts';

const NOTHING = '(no output was recorded)';
const ask = { role: 'user', content: 'Go.' };
const reported = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] };

function call(id: unknown, more: JsonObject = {}): JsonObject {
  return { type: 'function_call', call_id: id, name: 'add', arguments: '{"a":1}', ...more };
}

function custom(id: unknown, more: JsonObject = {}): JsonObject {
  return { type: 'custom_tool_call', call_id: id, name: 'grep', input: 'not JSON', ...more };
}

function output(id: unknown, text = `of ${id}`, more: JsonObject = {}): JsonObject {
  return { type: 'function_call_output', call_id: id, output: text, ...more };
}

function repaired(...items: readonly unknown[]) {
  const { list, repairs } = repairInput(items);
  return { list, repairs: repairs.map(({ code, index }) => `${code} ${index}`) };
}

describe('repairInput', () => {
  it('[A-24] leaves input that can be written for a model as the very list that it is', () => {
    const inputs = [
      [],
      [ask, reported, ask],
      [call('a'), call('b'), output('b'), output('a'), ask],
      [call('a'), ask, output('a')],
      [call('a'), output('a'), call('a'), output('a')],
      [custom('c'), { type: 'custom_tool_call_output', call_id: 'c', output: 'x' }],
      [output('a', 'x', { name: 'add' })],
      [call('a', { status: 'incomplete', arguments: '{}' })],
      [
        { type: 'unheard_of', name: '' },
        { type: 'item_reference', id: 'x' },
      ],
    ];
    const kept = inputs.map((items) => repairInput(items));
    expect(kept.map(({ repairs }) => repairs)).toEqual(inputs.map(() => []));
    expect(kept.map(({ list }, at) => list === inputs[at])).toEqual(inputs.map(() => true));
  });

  const repairs: readonly (readonly [string, readonly unknown[], readonly unknown[], readonly string[]])[] = [
    [
      'drops a second output of a call',
      [call('a'), output('a'), output('a', 'again'), output('a', 'named', { name: 'add' })],
      [call('a'), output('a')],
      ['duplicate_output 2', 'duplicate_output 3'],
    ],
    [
      'drops an output that has no call and names none',
      [ask, output('a'), output('')],
      [ask],
      ['orphan_output 1', 'orphan_output 2'],
    ],
    [
      'puts an output that came too early behind its call and the calls beside it',
      [output('a'), call('a'), call('b'), output('b'), ask],
      [call('a'), call('b'), output('a'), output('b'), ask],
      ['misplaced_output 0'],
    ],
    [
      'fills in missing outputs after their calls, each of the type that its call requires',
      [call('a'), custom('b'), ask, call('c')],
      [
        call('a'),
        custom('b'),
        output('a', NOTHING),
        { type: 'custom_tool_call_output', call_id: 'b', output: NOTHING },
        ask,
        call('c'),
        output('c', NOTHING),
      ],
      ['missing_output 0', 'missing_output 1', 'missing_output 3'],
    ],
    [
      'distinguishes turns whose calls have the same id',
      [call('a'), ask, call('a'), output('a', 'second')],
      [call('a'), output('a', NOTHING), ask, call('a'), output('a', 'second')],
      ['missing_output 0'],
    ],
    [
      'fills in no output between calls that are parallel while one of them waits for its own',
      [call('a'), call('a'), call('b'), reported, call('a', { status: 'incomplete' }), output('a')],
      [
        ...[call('a'), call('a'), call('b'), reported, call('a', { status: 'incomplete' }), output('a')],
        ...[output('a', NOTHING), output('b', NOTHING)],
      ],
      ['missing_output 1', 'missing_output 2'],
    ],
    [
      'writes arguments that are no JSON object as an object',
      [call('a', { arguments: '{"a":' }), call('b', { arguments: { a: 1 } }), output('a'), output('b')],
      [call('a', { arguments: '{}' }), call('b'), output('a'), output('b')],
      ['bad_arguments 0', 'bad_arguments 1'],
    ],
    [
      'drops calls without a name, and their outputs',
      [call('a', { name: '' }), custom('b', { name: undefined }), output('a'), ask],
      [ask],
      ['empty_name 0', 'empty_name 1', 'orphan_output 2'],
    ],
    [
      'gives a call an id that has none',
      [ask, call(undefined)],
      [ask, call('call_1'), output('call_1', NOTHING)],
      ['missing_id 1', 'missing_output 1'],
    ],
    ['drops what is no item', [null, 'Go.', 7, ask], [ask], [0, 1, 2].map((at) => `not_a_message ${at}`)],
  ];

  for (const [name, items, list, codes] of repairs)
    it(`[A-24] ${name}`, () => {
      expect(repaired(...items)).toEqual({ list, repairs: codes });
    });

  it('[A-24] returns the original index of each entry', () => {
    expect(repairInput([output('a'), 7, call('a'), call('b'), ask]).places).toEqual([2, 3, 0, -1, 4]);
  });

  it('[A-24] [P-06] rejects with the first fault of the list, naming its place', () => {
    const refused = (...items: readonly unknown[]) => {
      try {
        rejectFirst(repairInput(items).repairs);
        return 'taken';
      } catch (error) {
        const { code, status, param } = error as JsonObject;
        return { code, status, param };
      }
    };
    expect([
      refused(ask, reported, reported),
      refused(call('b'), call('a', { arguments: '!' })),
      refused(ask, output('x')),
    ]).toEqual([
      'taken',
      { code: 'tool_output_missing', status: 400, param: 'input[0]' },
      { code: 'tool_call_not_found', status: 400, param: 'input[1]' },
    ]);
  });

  it('[Q-06] gets through a hundred thousand items, whatever their calls and outputs', () => {
    const ids = Array.from({ length: 50_000 }, (_, at) => `c${at}`);
    const lists = [
      [...ids.map((id) => call(id)), ...ids.map((id) => output(id))],
      [...ids.map((id) => output(id)), ...ids.map((id) => call(id))],
      [...ids.map(() => call('same')), ...ids.map(() => output('same'))],
      ids.map((id) => call(id)),
    ];
    expect(lists.map((list) => repairInput(list).list.length)).toEqual(lists.map(() => 100_000));
  });
});

const id = fc.constantFrom('a', 'b', 'c', '', undefined);
const anyItem = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({ of: id, text: fc.constantFrom('{}', '{"a":1}', '{', '', null, { a: 1 }) })
      .map(({ of, text }) => call(of, { arguments: text })),
  },
  { weight: 6, arbitrary: id.map((of) => output(of)) },
  { weight: 1, arbitrary: id.map((of) => output(of, 'named', { name: 'add' })) },
  { weight: 1, arbitrary: id.map((of) => custom(of)) },
  { weight: 2, arbitrary: fc.nat(99).map((at) => ({ role: 'user', content: `user ${at}` })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      reported,
      null,
      7,
      {},
      call('a', { name: '' }),
      call('a', { status: 'incomplete' }),
      {
        type: 'reasoning',
        summary: [],
      },
    ),
  },
);
const mess = fc.array(anyItem, { maxLength: 12 });

/** As a router writes the items for its model. Throws what it would refuse them with. */
function written(items: readonly unknown[]) {
  const options = { systemMessages: 'keep', developerRole: 'keep', reasoningReplay: false } as const;
  const whole: readonly Item[] = inputItems(items, '0'.repeat(32));
  return toChatMessages({ model: 'm', items: whole, tools: [] }, options, () => {});
}

function kept(items: readonly unknown[]) {
  const known = items.filter(
    (item) => (item as JsonObject | null)?.role === 'user' || isWholeCall(item as JsonObject | null),
  );
  return known;
}

function isWholeCall(item: JsonObject | null): boolean {
  if (!item?.call_id || !item.name || item.type === 'function_call_output') return false;
  return item.type === 'custom_tool_call' || item.arguments === '{}' || item.arguments === '{"a":1}';
}

describe('laws of repairInput', () => {
  it('[A-24] [P-06] what comes out is written for a model without a complaint, whatever went in', () => {
    fc.assert(
      fc.property(mess, (items) => void written(repairInput(items).list)),
      { numRuns: 3000 },
    );
  });

  it('[A-24] repairs nothing twice: what comes out is left as the very list that it is', () => {
    fc.assert(
      fc.property(mess, (items) => {
        const once = repairInput(items).list;
        const twice = repairInput(once);
        expect(twice.repairs).toEqual([]);
        expect(twice.list).toBe(once);
      }),
      { numRuns: 3000 },
    );
  });

  it('[A-24] loses no text of the user’s and no call that is whole', () => {
    fc.assert(
      fc.property(mess, (items) => {
        expect(kept(repairInput(items).list)).toEqual(expect.arrayContaining([...kept(items)]));
      }),
    );
  });

  it('[A-24] refuses nothing that a router takes as it is', () => {
    fc.assert(
      fc.property(mess, (items) => {
        const { repairs } = repairInput(items);
        if (repairs.length === 0) written(items);
      }),
    );
  });

  it('[A-24] never throws, and changes nothing that it was given', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyItem, fc.anything())), (items) => {
        const before = structuredClone(items);
        repairInput(items);
        expect(items).toEqual(before);
      }),
    );
  });
});
