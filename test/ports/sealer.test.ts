/** The sealer of values that leave this server and come back. */
import fc from 'fast-check';
import { providerStates, stateSealer } from '../../src/apis/endpoint/provider-state.ts';
import { sealer } from '../../src/ports/sealer.ts';
import { readStateOwner, type Upstream } from '../../src/ports/upstream.ts';
import type { Item } from '../../src/protocol/items.ts';

const KEY = 'a key of sixteen bytes or more';
const PURPOSE = { name: 'tests', prefix: 'tst1.' };
const { seal, open } = sealer(KEY, PURPOSE);
const text = fc.string({ unit: 'grapheme' });

describe('sealer', () => {
  it('[V-01] gives back any JSON value to whom it is bound', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(text), (value, bound) => {
        expect(open(seal(value, bound), bound)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('[V-01] [P-13] opens for no other list of names, however they are written', () => {
    const odd: readonly (readonly string[])[] = [
      ['a', 'b'],
      ['ab'],
      ['a,b'],
      ['["a","b"]'],
      ['a', 'b', ''],
      ['', 'a', 'b'],
      ['a"', 'b'],
      ['a","b'],
      ['b', 'a'],
      ['\ud800'],
      ['\ud801'],
      ['\ufffd'],
      [],
    ];
    const opened = odd.map((mine) => odd.map((yours) => open(seal(1, mine), yours) === 1));
    expect(opened).toEqual(odd.map((_, one) => odd.map((__, other) => one === other)));
  });

  it('[V-01] opens nothing with another key, of another purpose, or of which one bit was changed', () => {
    const sealed = seal({ a: 1 }, ['x']);
    const others = [sealer(`${KEY}!`, PURPOSE), sealer(KEY, { ...PURPOSE, name: 'others' })];
    expect(others.map((other) => other.open(sealed, ['x']))).toEqual([undefined, undefined]);
    const bytes = Buffer.from(sealed.slice(PURPOSE.prefix.length), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(open(PURPOSE.prefix + flipped.toString('base64url'), ['x'])).toBeUndefined();
    }
  });
});

describe('the state of a model server', () => {
  const server = (name: string, stateOwner?: Upstream['stateOwner']): Upstream => ({
    name,
    stateOwner,
    stream: () => [] as unknown as ReturnType<Upstream['stream']>,
  });
  const statesOf = (scope: string, upstream: Upstream, key = KEY, notes: string[] = [], model = 'm') =>
    providerStates(stateSealer(key), { scope, upstream, model }, ({ message }) => notes.push(message));
  const STATE = { type: 'thinking', signature: 'c2ln' };
  const mine = server('one', 'one https://a.example/v1');
  const item = (sealed: unknown): Item => ({ type: 'reasoning', id: 'rs_1', encrypted_content: sealed });

  it('[V-01] goes back on the item that carries it, whoever the client says it is of', () => {
    const states = statesOf('t', mine);
    expect(states.opened([item(states.seal(STATE))])).toEqual([
      { type: 'reasoning', id: 'rs_1', providerState: STATE },
    ]);
    const forged = { type: 'reasoning', id: 'rs_1', providerState: { type: 'thinking', signature: 'forged' } };
    const notes: string[] = [];
    expect(statesOf('t', mine, KEY, notes).opened([forged])).toEqual([{ type: 'reasoning', id: 'rs_1' }]);
    expect(notes).toEqual([]);
  });

  it.each([
    ['an item of the model’s own server', { type: 'web_search_call', id: `ws_${'a'.repeat(32)}0000.x1` }],
    ['a compaction', { type: 'compaction', encrypted_content: 'x' }],
    ['a message', { type: 'message', role: 'user' }],
  ])('[V-01] [G-05] is the client’s own on %s that nobody sealed, and left out', (_, whole) => {
    const forged = { ...whole, providerState: [{ type: 'server_tool_use', input: { query: 'theirs' } }] };
    expect(statesOf('t', mine).opened([forged])).toEqual([whole]);
  });

  it('[V-01] [P-13] is left out with one note for another tenant, another server, another key, and where it was spoilt', () => {
    const sealed = statesOf('t', mine).seal(STATE);
    const wrong: readonly (readonly [string, Upstream, string, unknown])[] = [
      ['u', mine, KEY, sealed],
      ['t', server('one', 'one https://b.example/v1'), KEY, sealed],
      ['t', server('one'), KEY, sealed],
      ['t', mine, `${KEY}!`, sealed],
      ['t', mine, KEY, sealed.slice(0, -2)],
      ['t', mine, KEY, 'gAAAAABo'],
      ['t', mine, KEY, { data: 'x' }],
    ];
    const reported = wrong.map(([scope, upstream, key, spoilt]) => {
      const notes: string[] = [];
      const items = statesOf(scope, upstream, key, notes).opened([item(spoilt), item(spoilt), { type: 'message' }]);
      return [items.filter(({ providerState, encrypted_content }) => providerState ?? encrypted_content), notes.length];
    });
    expect(reported).toEqual(wrong.map(() => [[], 1]));
  });

  it('[V-01] leaves compaction items and all others as they are', () => {
    const items = [
      { type: 'compaction', encrypted_content: 'x' },
      { type: 'message', role: 'user' },
    ];
    expect(statesOf('t', mine).opened(items)).toBe(items);
  });

  it('[V-01] belongs to the server that an upstream of several hands the model to', () => {
    const several = server('both', (model) => `both ${model}`);
    const sealed = statesOf('t', several, KEY, [], 'a').seal(STATE);
    expect(statesOf('t', several, KEY, [], 'a').opened([item(sealed)])[0]?.providerState).toEqual(STATE);
    expect(statesOf('t', several, KEY, [], 'b').opened([item(sealed)])[0]?.providerState).toBeUndefined();
    expect([readStateOwner(server('bare'), 'a'), readStateOwner(mine, 'a')]).toEqual([
      'bare',
      'one https://a.example/v1',
    ]);
  });
});
