/** Arguments against schemas: what is wrong with them is said, and no model can make that take long. */
import { wrongIn } from '../../src/tools/check-arguments.ts';

const wrong = (args: Readonly<Record<string, unknown>>, schema: Readonly<Record<string, unknown>>) =>
  wrongIn(args, JSON.stringify(args), schema);

/** What is said, and whether it was said within a second of CPU. */
function timed(args: Readonly<Record<string, unknown>>, schema: Readonly<Record<string, unknown>>) {
  const began = process.cpuUsage();
  const written = wrong(args, schema);
  return [written, process.cpuUsage(began).user < 1e6];
}

const listOf = (items: object) => ({
  type: 'object',
  properties: { list: { type: 'array', uniqueItems: true, items } },
});
const addressed = (format: string) => ({ type: 'object', properties: { at: { type: 'string', format } } });

describe('checking arguments', () => {
  it.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]>([
    ['numbers that must differ', { list: Array.from({ length: 40_000 }, (_, index) => index) }, listOf({})],
    ['objects that must differ', { list: Array.from({ length: 20_000 }, (_, index) => ({ a: index })) }, listOf({})],
    ['an address that never ends', { at: `http://${'a'.repeat(40)}!` }, addressed('url')],
    ['a long address', { at: `http://${'a/'.repeat(500_000)}\u0000` }, addressed('uri-template')],
  ])('[F-04] takes no long time: %s', (_, args, schema) => {
    const [written, isSoon] = timed(args, schema);
    expect([typeof written === 'string' || written === undefined, isSoon]).toEqual([true, true]);
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
    expect(wrongIn(nested, '', tree)).toBe('the arguments are nested too deeply');
  });

  it('leaves the schema as it is, and checks nothing by one that cannot be read', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', format: 'url' } } };
    const before = JSON.stringify(schema);
    expect([wrong({ a: 1 }, schema), JSON.stringify(schema)]).toEqual([expect.any(String), before]);
    expect(wrong({ a: 1 }, { properties: { a: { $ref: '#/nowhere' } } })).toBe(undefined);
  });
});
