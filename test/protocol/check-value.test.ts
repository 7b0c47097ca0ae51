/** Values against schemas: what is wrong with them is reported, and no untrusted value can make that take long. */
import { plainlyWrongIn, wrongIn } from '../../src/protocol/json/check-value.ts';
import { endCounting, workOf } from '../support/work.ts';

afterAll(endCounting);

const wrong = (args: Readonly<Record<string, unknown>>, schema: Readonly<Record<string, unknown>>) =>
  wrongIn(args, JSON.stringify(args), schema);

/** What it returns, and whether it took few steps; V8 needs a second for a thousand million. */
async function frugal<Value>(run: () => Value): Promise<readonly [Value | undefined, boolean]> {
  let value: Value | undefined;
  const { steps, passed } = await workOf(() => {
    value = run();
  });
  return [value, steps < 5e6 && passed < 5e7];
}

const listOf = (items: object) => ({
  type: 'object',
  properties: { list: { type: 'array', uniqueItems: true, items } },
});
const addressed = (format: string) => ({ type: 'object', properties: { at: { type: 'string', format } } });

const IN_TIME = 'the value could not be checked in time';
const BACKTRACKS = '^([a-zA-Z0-9]+\\.?)+@x$';
const LONG_NAME = 'a'.repeat(60);
/** Each of its alternatives fits, so that an object nested in another doubles the work. */
const DOUBLING = { anyOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } }, b: true }] };

/** `{ a: { a: … } }` */
function nestedIn(depth: number): Readonly<Record<string, unknown>> {
  return depth === 0 ? {} : { a: nestedIn(depth - 1) };
}

describe('checking arguments', () => {
  it.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]>([
    ['numbers that must differ', { list: Array.from({ length: 40_000 }, (_, index) => index) }, listOf({})],
    ['objects that must differ', { list: Array.from({ length: 20_000 }, (_, index) => ({ a: index })) }, listOf({})],
    ['an address that never ends', { at: `http://${'a'.repeat(40)}!` }, addressed('url')],
    [
      'an address in a property that is named as a keyword',
      { default: `http://${'a'.repeat(40)}!` },
      { properties: { default: { type: 'string', format: 'url' } } },
    ],
    [
      'numbers that must differ in a property that is named as a keyword',
      { enum: Array.from({ length: 40_000 }, (_, index) => index) },
      { properties: { enum: { uniqueItems: true } } },
    ],
    ['a long address', { at: `http://${'a/'.repeat(500_000)}\u0000` }, addressed('uri-template')],
  ])('[F-04] takes few steps: %s', async (_, args, schema) => {
    const [written, isFrugal] = await frugal(() => wrong(args, schema));
    expect([typeof written === 'string' || written === undefined, isFrugal]).toEqual([true, true]);
  });

  it('[F-04] still reports short lists with repetitions, and texts that match no known format', () => {
    expect([
      wrong({ list: [1, 2, 1] }, listOf({})),
      wrong({ at: 'here' }, addressed('email')),
      wrong({ format: 'x', uniqueItems: true }, { properties: { format: { type: 'number' }, uniqueItems: true } }),
      wrong({ a: { format: 'url' } }, { properties: { a: { enum: [{ format: 'url' }] } } }),
    ]).toEqual([
      expect.stringContaining('Duplicate items'),
      expect.stringContaining('does not match format "email"'),
      expect.stringContaining('Instance type "string" is invalid'),
      undefined,
    ]);
  });

  it('[F-04] refuses arguments that are nested deeper than the stack, of which nobody knows what they are', () => {
    let nested: Readonly<Record<string, unknown>> = { a: 1 };
    for (let depth = 0; depth < 100_000; depth += 1) nested = { a: nested };
    const tree = { type: 'object', properties: { a: { $ref: '#' } } };
    expect(wrongIn(nested, '', tree)).toBe('the value is nested too deeply');
  });

  it.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]>([
    ['a pattern', { a: LONG_NAME }, { properties: { a: { pattern: BACKTRACKS } } }],
    ['a pattern of a name', { [LONG_NAME]: 1 }, { propertyNames: { pattern: BACKTRACKS } }],
    ['a pattern of names', { [LONG_NAME]: 1 }, { patternProperties: { [BACKTRACKS]: {} } }],
    [
      'a pattern of a property that is named as a keyword',
      { default: { enum: LONG_NAME } },
      { properties: { default: { properties: { enum: { pattern: BACKTRACKS } } } } },
    ],
    [
      'a pattern in a definition',
      { a: LONG_NAME },
      { $defs: { const: { pattern: BACKTRACKS } }, properties: { a: { $ref: '#/$defs/const' } } },
    ],
    [
      'a pattern below an unknown keyword',
      { a: LONG_NAME },
      { shared: { pattern: BACKTRACKS }, properties: { a: { $ref: '#/shared' } } },
    ],
    ['references that double', nestedIn(60), DOUBLING],
    [
      'references to the root that double',
      nestedIn(60),
      JSON.parse(JSON.stringify(DOUBLING).replaceAll('$ref', '$recursiveRef')),
    ],
  ])('[F-04] refuses what cannot be checked in time: %s', (_, args, schema) => {
    expect(wrong(args, schema)).toBe(IN_TIME);
  });

  it('[F-04] [T-06] checks by patterns and references what can be checked in time, short or long, before and after such a value', () => {
    const code = { pattern: '^[a-z]+$' };
    const coded = { $defs: { code }, properties: { a: { $ref: '#/$defs/code' }, list: { items: code } } };
    const list = Array.from({ length: 2_000 }, () => 'abcdefghij');
    const results = () => [
      wrong({ a: 'abc', list }, coded),
      wrong({ a: 'abc', list: [...list, 'A'] }, coded),
      wrong({ a: 'ABC' }, coded),
      wrong(nestedIn(3), DOUBLING),
    ];
    const expected = [
      undefined,
      'String does not match pattern. (path=#/list/2000)',
      'String does not match pattern. (path=#/a)',
      undefined,
    ];
    expect(results()).toEqual(expected);
    expect(wrong({ a: LONG_NAME }, { properties: { a: { pattern: BACKTRACKS } } })).toBe(IN_TIME);
    expect(results()).toEqual(expected);
  });

  it('leaves the schema as it is, and checks nothing by one that cannot be read', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', format: 'url' } } };
    const before = JSON.stringify(schema);
    expect([wrong({ a: 1 }, schema), JSON.stringify(schema)]).toEqual([expect.any(String), before]);
    expect(wrong({ a: 1 }, { properties: { a: { $ref: '#/nowhere' } } })).toBe(undefined);
  });
});

const plainlyWrong = (value: unknown, schema: Readonly<Record<string, unknown>>) =>
  plainlyWrongIn(value, JSON.stringify(value), schema);

describe('checking a value by an untrusted schema', () => {
  const rows = {
    type: 'object',
    properties: { rows: { type: 'array', maxItems: 3, items: { properties: { n: { minimum: 1 } }, required: ['n'] } } },
    additionalProperties: false,
  };

  it.each<[string, unknown, string | undefined]>([
    ['what fits', { rows: [{ n: 1 }, { n: 2, more: true }] }, undefined],
    ['a type', { rows: 'none' }, 'Instance type "string" is invalid. Expected "array". (path=#/rows)'],
    ['a missing property', { rows: [{}] }, 'Instance does not have required property "n". (path=#/rows/0)'],
    ['a number', { rows: [{ n: 0 }] }, '0 is less than 1. (path=#/rows/0/n)'],
    ['a property too many', { more: 1 }, 'False boolean schema. (path=#/more)'],
    ['the whole', [], 'Instance type "array" is invalid. Expected "object". (path=#)'],
  ])('[T-06] reports %s', (_, value, expected) => {
    expect(plainlyWrong(value, rows)).toBe(expected);
  });

  it('[T-06] takes for right what it does not check', () => {
    const schema = {
      $defs: { n: { type: 'number' } },
      properties: {
        ref: { $ref: '#/$defs/n' },
        pattern: { pattern: '^a' },
        any: { anyOf: [{ type: 'number' }] },
        pair: { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
      },
      patternProperties: { '^x': { type: 'string' } },
      additionalProperties: false,
      type: ['object'],
    };
    expect(plainlyWrong({ ref: 'x', pattern: 'b', any: 'x', pair: ['a', 1], x1: 'x' }, schema)).toBe(undefined);
  });

  it.each<[string, unknown, Readonly<Record<string, unknown>>]>([
    ['a pattern that backtracks', { a: `${'a'.repeat(40)}!` }, { properties: { a: { pattern: '^(a+)+$' } } }],
    ['names that backtrack', { ['a'.repeat(40)]: 1 }, { propertyNames: { pattern: '^(a+)+!$' } }],
    [
      'references that double',
      {},
      {
        $ref: '#/$defs/d0',
        $defs: Object.fromEntries(
          Array.from({ length: 41 }, (_, n) => {
            const next = { $ref: `#/$defs/d${n + 1}` };
            return [`d${n}`, n === 40 ? {} : { allOf: [next, next] }];
          }),
        ),
      },
    ],
    [
      'a wide schema for a long list',
      Array.from({ length: 100_000 }, () => ({})),
      { items: { properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`p${n}`, {}])) } },
    ],
    [
      'many schemas for many names',
      Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`n${n}`, 1])),
      { allOf: Array.from({ length: 5_000 }, () => ({ additionalProperties: true })) },
    ],
    ['items that must differ', Array.from({ length: 40_000 }, (_, n) => n), { uniqueItems: true }],
    ['a format that backtracks', `http://${'a'.repeat(40)}!`, { format: 'url' }],
  ])('[F-04] takes few steps: %s', async (_, value, schema) => {
    expect(await frugal(() => plainlyWrong(value, schema))).toEqual([undefined, true]);
  });
});
