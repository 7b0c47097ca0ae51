/** Every way in which upstreams are known to cut tool calls into chunks. */

import fc from 'fast-check';
import { ToolCalls } from '../../../src/protocol/chat-completions/tool-calls.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

/** A call, as it comes out. */
interface Whole {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** The events of the calls, chunk by chunk: `id`, `name` and the arguments so far. */
function written(...chunks: readonly (readonly unknown[])[]): readonly unknown[] {
  const calls = new ToolCalls();
  const events: Parameters<typeof calls.settle>[0] = [];
  for (const chunk of chunks) calls.take(chunk, events);
  calls.settle(events);
  calls.end(events, false);
  return events.map(({ type: _, ...event }) => event);
}

/** The calls that the events add up to. */
function whole(...chunks: readonly (readonly unknown[])[]): readonly Whole[] {
  const calls: Whole[] = [];
  for (const event of written(...chunks) as readonly (Partial<Whole> & { call: number; arguments: string })[]) {
    const { call, id = '', name = '', arguments: text } = event;
    const known = calls[call];
    calls[call] = known ? { ...known, arguments: known.arguments + text } : { id, name, arguments: text };
  }
  return calls;
}

function entry(
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  text?: unknown,
): JsonObject {
  return {
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    type: 'function',
    function: {
      ...(name === undefined ? {} : { name }),
      ...(text === undefined ? {} : { arguments: text }),
    },
  };
}

const TWO: readonly Whole[] = [
  { id: 'a', name: 'one', arguments: '{"x":1}' },
  { id: 'b', name: 'two', arguments: '{"y":2}' },
];
const ONE = TWO.slice(0, 1);

describe('arguments that are no deltas', () => {
  const first = (text: string) => [entry(0, 'a', 'one', text)];
  const next = (text: string) => [entry(0, undefined, undefined, text)];
  const text = '{"city":"Paris","days":[1,{"n":100}]}';

  it('[V-19] replace what they repeat, wherever they are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 6 }), (cuts) => {
        const places = [...cuts.toSorted((one, other) => one - other), text.length];
        const chunks = places.map((at) => next(text.slice(0, at)));
        expect(whole(first(''), ...chunks)).toEqual([{ id: 'a', name: 'one', arguments: text }]);
      }),
    );
  });

  it('[V-19] are pieces as soon as they are deltas, wherever they are cut, and whatever they hold', () => {
    const inner = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(1, 100, '{"a":', '{', 'x'),
        tie('object'),
        fc.array(tie('value'), { maxLength: 2 }),
      ),
      object: fc.dictionary(fc.constantFrom('a', 'b'), tie('value'), { minKeys: 1, maxKeys: 2 }),
    }));
    // An object within an object within an object, all of which begin alike, cannot be told from a repetition.
    const objects = inner.object.filter((object) => !/^(\{.*[:[,])\1\1/.test(JSON.stringify(object)));
    fc.assert(
      fc.property(objects, fc.array(fc.nat(100), { maxLength: 8 }), (object, places) => {
        const json = JSON.stringify(object);
        const inside = places.map((at) => at % json.length).toSorted((one, other) => one - other);
        const cuts = [0, ...inside, json.length];
        const chunks = cuts.slice(1).map((at, index) => next(json.slice(cuts[index], at)));
        expect(whole(first(''), ...chunks)).toEqual([{ id: 'a', name: 'one', arguments: json }]);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['as the same text', text],
    ['with other blanks', JSON.stringify(JSON.parse(text), null, 2)],
    ['as JSON of the text', JSON.stringify(text)],
    ['as JSON of the text with other blanks', JSON.stringify(JSON.stringify(JSON.parse(text), null, 2))],
  ])('[V-19] come once more at the end: %s', (_, again) => {
    const deltas = [first(''), next(text.slice(0, 9)), next(text.slice(9))];
    for (const last of [next(again), [entry(0, 'a', 'one', again)], [entry(0, undefined, 'one', again)]])
      expect(whole(...deltas, last)).toEqual([{ id: 'a', name: 'one', arguments: text }]);
  });

  it.each([
    ['in pieces', [text.slice(0, 9), text.slice(9)]],
    ['at once', [text]],
    ['that grow', [text.slice(0, 9), text]],
    ['and once more', ['{}', text]],
    ['and as JSON of the text', ['"{}"', text, JSON.stringify(text)]],
  ])('[V-19] have an empty object in front of them: %s', (_, pieces) => {
    for (const begun of [[first('{}')], [first(''), next('{}')], [first('{}'), next('')]])
      expect(whole(...begun, ...pieces.map(next))).toEqual([{ id: 'a', name: 'one', arguments: text }]);
  });

  it('[V-19] are an empty object where nothing else follows, in its place', () => {
    const none = { id: 'a', name: 'one', arguments: '{}' };
    const other = { id: 'b', name: 'two', arguments: '{}' };
    for (const end of [[], [next('')], [next('{}')], [next('"{}"')]])
      expect(whole(first('{}'), ...end)).toEqual([none]);
    expect(written(first('{}'), [entry(1, 'b', 'two', '{"y"')], [entry(1, undefined, undefined, ':2}')])).toEqual([
      { call: 0, ...none, arguments: '' },
      { call: 0, arguments: '{}' },
      { call: 1, id: 'b', name: 'two', arguments: '{"y"' },
      { call: 1, arguments: ':2}' },
    ]);
    for (const index of [0, 1, undefined])
      expect(whole(first('{}'), [entry(index, 'b', 'two', '{}')])).toEqual([none, other]);
    expect(whole([entry(0, '', 'one', '{}')], [entry(0, '', 'two', '{}')])).toEqual([
      { ...none, id: '' },
      { ...other, id: '' },
    ]);
  });

  it('[V-19] keep a text that is an object in quotes, and one behind an empty object that is no object', () => {
    const json = JSON.stringify({ code: text });
    const at = json.indexOf('"{');
    expect(whole(first(json.slice(0, at)), next(json.slice(at, -1)), next('}'))[0]?.arguments).toBe(json);
    expect(whole(first('{}'), next('"{"'))[0]?.arguments).toBe('{}"{"');
  });

  it('[V-19] are two calls, if their ids say so', () => {
    expect(whole(first('{}'), [entry(1, 'b', 'one', '{}')])).toHaveLength(2);
    expect(whole(first('{}'), [entry(0, 'b', 'one', '{}')])).toHaveLength(2);
  });

  it('[V-19] repeat a number that is one', () => {
    expect(whole(first('{"n":'), next('100'), next('00'), next('}'))[0]?.arguments).toBe('{"n":10000}');
  });

  it('[V-19] of several calls at once are each their own', () => {
    const chunks = [5, 9, 13].map((at) => [
      entry(0, undefined, undefined, '{"x":"abcde"}'.slice(0, at)),
      entry(1, undefined, undefined, '{"y":"abcde"}'.slice(0, at)),
    ]);
    expect(whole([entry(0, 'a', 'one', ''), entry(1, 'b', 'two', '')], ...chunks)).toEqual([
      { id: 'a', name: 'one', arguments: '{"x":"abcde"}' },
      { id: 'b', name: 'two', arguments: '{"y":"abcde"}' },
    ]);
  });
});

describe('toolCalls', () => {
  it('[P-05] [A-06] emits id and name with the first arguments, and then each piece as it came', () => {
    const chunks = [
      [entry(0, 'a', 'one', '')],
      [entry(0, undefined, undefined, '{"x"')],
      [entry(0, undefined, undefined, ':1}')],
    ];
    expect(written(...chunks)).toEqual([
      { call: 0, id: 'a', name: 'one', arguments: '{"x"' },
      { call: 0, arguments: ':1}' },
    ]);
  });

  it.each<readonly [string, readonly (readonly unknown[])[], readonly Whole[]]>([
    ['several in one delta', [[entry(0, 'a', 'one', '{"x":1}'), entry(1, 'b', 'two', '{"y":2}')]], TWO],
    [
      'interleaved',
      [
        [entry(0, 'a', 'one', '')],
        [entry(1, 'b', 'two', '')],
        [entry(0, undefined, undefined, '{"x"'), entry(1, undefined, undefined, '{"y"')],
        [entry(1, undefined, undefined, ':2}')],
        [entry(0, undefined, undefined, ':1}')],
      ],
      TWO,
    ],
    [
      'without an index, in pieces',
      [
        [entry(undefined, 'a', 'one', '{"x"')],
        [entry(undefined, undefined, undefined, ':1}')],
        [entry(undefined, 'b', 'two', '{"y":2}')],
      ],
      TWO,
    ],
    [
      'without an index, in one delta',
      [[entry(undefined, 'a', 'one', '{"x":1}'), entry(undefined, 'b', 'two', '{"y":2}')]],
      TWO,
    ],
    [
      'without an index, by the id on each piece',
      [
        [entry(undefined, 'a', 'one', '{"x"')],
        [entry(undefined, 'b', 'two', '{"y"')],
        [entry(undefined, 'a', undefined, ':1}')],
        [entry(undefined, 'b', undefined, ':2}')],
      ],
      TWO,
    ],
    ['all at index 0', [[entry(0, 'a', 'one', '{"x":1}')], [entry(0, 'b', 'two', '{"y":2}')]], TWO],
    [
      'all at index 0, without ids',
      [[entry(0, '', 'one', '{"x":1}')], [entry(0, '', 'two', '{"y":2}')]],
      TWO.map((call) => ({ ...call, id: '' })),
    ],
    [
      'with neither index nor id, one after another',
      [[entry(undefined, '', 'one', '{"x":1}')], [entry(undefined, '', 'two', '{"y":2}')]],
      TWO.map((call) => ({ ...call, id: '' })),
    ],
    [
      'with neither index nor id, of the same name, in one delta',
      [[entry(undefined, '', 'one', '{"x":1}'), entry(undefined, '', 'one', '{"x":1}')]],
      [
        { id: '', name: 'one', arguments: '{"x":1}' },
        { id: '', name: 'one', arguments: '{"x":1}' },
      ],
    ],
    [
      'with neither index nor id nor arguments, in one delta',
      [[entry(undefined, '', 'now', ''), entry(undefined, '', 'now', '')]],
      [
        { id: '', name: 'now', arguments: '' },
        { id: '', name: 'now', arguments: '' },
      ],
    ],
    [
      'with id and name repeated on each piece',
      [[entry(0, 'a', 'one', '')], [entry(0, 'a', 'one', '{"x"')], [entry(0, 'a', 'one', ':1}')]],
      ONE,
    ],
    [
      'with another id on each nameless piece',
      [[entry(0, 'a', 'one', '{"x"')], [entry(0, 'zz', undefined, ':1')], [entry(0, 'zzz', '', '}')]],
      ONE,
    ],
    ['with an empty id behind the first piece', [[entry(0, 'a', 'one', '{"x"')], [entry(0, '', '', ':1}')]], ONE],
    ['with the id late', [[entry(0, '', 'one', '')], [entry(0, 'a', '', '{"x":1}')]], ONE],
    ['with a split name', [[entry(0, 'a', 'o', '')], [entry(0, 'a', 'ne', '')], [entry(0, 'a', '', '{"x":1}')]], ONE],
    [
      'with null for all that is absent',
      [[entry(0, 'a', 'one', null)], [{ index: 0, id: null, function: { name: null, arguments: '{"x":1}' } }]],
      ONE,
    ],
    ['with an index of null', [[{ ...entry(undefined, 'a', 'one', '{"x":1}'), index: null }]], ONE],
    ['with the arguments as an object', [[entry(0, 'a', 'one', { x: 1 })]], ONE],
    ['with an enormous index', [[entry(1e9, 'a', 'one', '{"x":1}')]], ONE],
    ['with nothing that can be read', [[null, 'call', 7]], []],
    ['without a name', [[entry(0, 'a', '', '{"x":1}')]], []],
    [
      'with the name again and another id on each piece',
      [[entry(0, 'a', 'one', '{"x"')], [entry(0, 'a2', 'one', ':1')], [entry(0, 'a3', 'one', '}')]],
      ONE,
    ],
    [
      'with the name again and another id on each piece, without an index',
      [[entry(undefined, 'a', 'one', '{"x"')], [entry(undefined, 'a2', 'one', ':1}')]],
      ONE,
    ],
    [
      'of the same name at index 0, of which only the last is whole',
      [
        [entry(0, 'a', 'one', '{"x":')],
        [entry(0, 'b', 'one', '{"y":')],
        [entry(0, 'c', 'one', '')],
        [entry(0, undefined, undefined, '{"z":3}')],
      ],
      [
        { id: 'a', name: 'one', arguments: '{"x":' },
        { id: 'b', name: 'one', arguments: '{"y":' },
        { id: 'c', name: 'one', arguments: '{"z":3}' },
      ],
    ],
    [
      'of the same name at index 0, without arguments',
      [[entry(0, 'a', 'one', '')], [entry(0, 'b', 'one', '')]],
      [
        { id: 'a', name: 'one', arguments: '' },
        { id: 'b', name: 'one', arguments: '' },
      ],
    ],
    [
      'whose other pieces have their id, and another index',
      [
        [entry(0, 'a', 'one', '')],
        [entry(1, 'a', undefined, '{"x"')],
        [entry(1, undefined, undefined, ':1}')],
        [entry(1, 'b', 'two', '{"y":2}')],
      ],
      TWO,
    ],
    [
      'of the same id and name, each with its index',
      [[entry(0, 'a', 'one', '{"x":1}'), entry(1, 'a', 'one', '')], [entry(1, 'a', '', '{"x":2}')]],
      [
        { id: 'a', name: 'one', arguments: '{"x":1}' },
        { id: 'a', name: 'one', arguments: '{"x":2}' },
      ],
    ],
    [
      'with indices as text, interleaved',
      [
        [
          { ...entry(0, 'a', 'one', '{"x"'), index: '0' },
          { ...entry(1, 'b', 'two', '{"y"'), index: '1' },
        ],
        [{ ...entry(0, undefined, undefined, ':1}'), index: '0' }],
        [{ ...entry(1, undefined, undefined, ':2}'), index: '1' }],
      ],
      TWO,
    ],
    ['with an index that is no number', [[{ ...entry(0, 'a', 'one', '{"x":1}'), index: 'first' }]], ONE],
    [
      'all at index 0, interleaved, by the id on each piece',
      [
        [entry(0, 'a', 'one', '{"x"')],
        [entry(0, 'b', 'two', '{"y"')],
        [entry(0, 'a', undefined, ':')],
        [entry(0, 'b', 'two', ':2}')],
        [entry(0, 'a', 'one', '1}')],
      ],
      TWO,
    ],
    ...[undefined, 0].map((index): readonly [string, readonly (readonly unknown[])[], readonly Whole[]] => [
      `without ids, their names in chunks of their own, at index ${index}`,
      [
        [entry(index, '', 'one', '')],
        [entry(index, '', '', '{"x":1}')],
        [entry(index, '', 'two', '')],
        [entry(index, '', '', '{"y":2}')],
      ],
      TWO.map((call) => ({ ...call, id: '' })),
    ]),
    [
      'of one id at one index, by their names',
      [[entry(0, 'a', 'one', '{"x":1}')], [entry(0, 'a', 'two', '{"y":2}')]],
      TWO.map((call) => ({ ...call, id: 'a' })),
    ],
    ['with the name late', [[entry(0, 'a', '', '{"x"')], [entry(0, 'a', 'one', ':1}')]], ONE],
    [
      'named like a property of every object',
      [[entry(0, '__proto__', 'constructor', '{}')]],
      [{ id: '__proto__', name: 'constructor', arguments: '{}' }],
    ],
  ])('[P-05] puts together calls %s', (_, chunks, calls) => {
    expect(whole(...chunks)).toEqual(calls);
  });

  it('[P-05] emits a call without arguments when the next one comes, and at the end', () => {
    expect(written([entry(0, 'a', 'one')], [entry(1, 'b', 'two', '')])).toEqual([
      { call: 0, id: 'a', name: 'one', arguments: '' },
      { call: 1, id: 'b', name: 'two', arguments: '' },
    ]);
  });

  it('[P-05] takes the function for the call where an empty custom call stands beside it', () => {
    const custom = { name: '', input: '' };
    const first = { ...entry(0, 'a', 'one', ''), custom };
    expect(whole([first], [{ ...entry(0, '', '', '{"x"'), custom }], [{ ...entry(0, '', '', ':1}'), custom }])).toEqual(
      ONE,
    );
    expect(whole([{ ...first, function: { name: '', arguments: '' }, custom: { name: 'raw', input: 'x' } }])).toEqual([
      { id: 'a', name: 'raw', arguments: '{"input":"x"}' },
    ]);
  });

  it('[P-05] emits a call once, however often it is settled', () => {
    const calls = new ToolCalls();
    const events: Parameters<typeof calls.settle>[0] = [];
    calls.settle(events);
    calls.take([entry(0, 'a', 'one')], events);
    calls.settle(events);
    calls.settle(events);
    expect(events).toEqual([{ type: 'tool-call-delta', call: 0, id: 'a', name: 'one', arguments: '' }]);
  });

  it('[P-05] reads the same calls wherever their arguments are cut', () => {
    const arbitraryCall = fc.record({ name: fc.constantFrom('one', 'two'), value: fc.jsonValue() });
    fc.assert(
      fc.property(fc.array(arbitraryCall, { maxLength: 4 }), fc.nat(40), (calls, size) => {
        const texts = calls.map(({ value }) => JSON.stringify({ value }));
        const chunks = calls.flatMap(({ name }, index) => [
          [entry(index, `id${index}`, name, '')],
          ...cut(texts[index] ?? '', size + 1).map((piece) => [entry(index, undefined, undefined, piece)]),
        ]);
        expect(whole(...chunks)).toEqual(
          calls.map(({ name }, index) => ({ id: `id${index}`, name, arguments: texts[index] })),
        );
      }),
    );
  });
});

function cut(text: string, size: number): readonly string[] {
  const pieces = [];
  for (let start = 0; start < text.length; start += size) pieces.push(text.slice(start, start + size));
  return pieces;
}
