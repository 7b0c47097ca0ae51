/** The store contract on scopes: no scope finds, replaces, deletes or continues another's response. */
import assert from 'node:assert/strict';
import { assertMissing, assertSame, freshScope, idsOfChain, type StoreCase, turn } from './store-case.ts';
import { ODD_IDS } from './store-keeping-cases.ts';

/** The separators with which stores join scope and id. */
export const SEPARATORS = [
  ':',
  '::',
  '/',
  '\u0000',
  '|',
  ',',
  '.',
  '-',
  '_',
  ' ',
  '\n',
  '"',
  "'",
  '\\',
  '","',
  '%3A',
  '#',
  '{}',
];
const WILDCARDS = ['%', 'resp_%', 'resp_1', '*', 'resp?1', 'resp.1', '[r]esp-1'];
/** Pairs that a careless collation or normalisation treats as equal. */
export const LOOKALIKES = [
  ['Resp', 'resp'],
  ['resp', 'resp '],
  ['resp', 'resp\u0000'],
  ['\u00e9', 'e\u0301'],
  ['ß', 'ss'],
  ['🧑‍🚀', '🧑'],
  ['1', '01'],
] as const;

/** The cases about scopes. */
export const scopeCases: readonly StoreCase[] = [
  {
    name: '[P-13] does not get another scope’s response',
    async run({ store }) {
      const mine = turn(freshScope(), 'resp_1');
      await store.put(mine);
      await assertMissing(store, { scope: freshScope(), id: mine.id });
    },
  },
  {
    name: '[P-13] does not replace another scope’s response of the same id',
    async run({ store }) {
      const [mine, yours] = [turn(freshScope(), 'resp_1'), turn(freshScope(), 'resp_1', { output: [] })];
      await Promise.all([store.put(mine), store.put(yours)]);
      assertSame(await store.get(mine), mine);
      assertSame(await store.get(yours), yours);
    },
  },
  {
    name: '[P-13] does not delete another scope’s response',
    async run({ store }) {
      const mine = turn(freshScope(), 'resp_1');
      await store.put(mine);
      assert.equal(await store.delete({ scope: freshScope(), id: mine.id }), false);
      assertSame(await store.get(mine), mine);
    },
  },
  {
    name: '[P-13] returns no chain of another scope’s response, and ends a chain before one',
    async run({ store }) {
      const mine = turn(freshScope(), 'resp_1');
      const yours = turn(freshScope(), 'resp_2', { previousId: mine.id });
      await Promise.all([store.put(mine), store.put(yours)]);
      assert.deepEqual(await idsOfChain(store, { scope: yours.scope, id: mine.id }), []);
      assert.deepEqual(await idsOfChain(store, yours), [yours.id]);
    },
  },
  {
    name: '[P-13] keeps scopes and ids apart whatever separators they contain',
    async run({ store }) {
      for (const separator of SEPARATORS) {
        const scope = freshScope();
        const [first, second] = [turn(scope, `b${separator}c`), turn(`${scope}${separator}b`, 'c')];
        await store.put(first);
        await assertMissing(store, second);
        await store.put(second);
        assertSame(await store.get(first), first);
        assertSame(await store.get(second), second);
      }
    },
  },
  {
    name: '[P-13] keeps responses under odd scopes and ids, and finds them in a chain',
    async run({ store }) {
      // Without the long one: a request may contain an id of any length, but stored ids are the server's.
      const odd = ODD_IDS.filter(({ length }) => length < 100);
      const scopes = odd.map((text) => `${freshScope()}${text}`);
      const turns = scopes.flatMap((scope) =>
        odd.map((id, index) => turn(scope, id, index === 0 ? {} : { previousId: odd[index - 1] })),
      );
      for (const response of turns) await store.put(response);
      for (const response of turns) assertSame(await store.get(response), response);
      for (const scope of scopes) {
        assert.deepEqual(await idsOfChain(store, { scope, id: odd.at(-1) ?? '' }, 100), odd.toReversed());
      }
    },
  },
  {
    name: '[P-13] treats wildcards in ids and scopes as plain characters',
    async run({ store }) {
      const mine = turn(freshScope(), 'resp-1');
      await store.put(mine);
      const guesses = WILDCARDS.map((id) => ({ scope: mine.scope, id }));
      for (const key of [...guesses, { scope: '%', id: mine.id }, { scope: '*', id: mine.id }]) {
        await assertMissing(store, key);
        assert.equal(await store.delete(key), false);
      }
      assertSame(await store.get(mine), mine);
    },
  },
  {
    name: '[P-13] keeps ids and scopes apart if they only look alike',
    async run({ store }) {
      for (const [one, other] of LOOKALIKES) {
        const scope = freshScope();
        const responses = [
          turn(scope, one),
          turn(scope, other),
          turn(`${scope}${one}`, 'id'),
          turn(`${scope}${other}`, 'id'),
        ];
        for (const [index, response] of responses.entries()) await store.put({ ...response, resource: { index } });
        for (const [index, response] of responses.entries()) {
          assert.deepEqual((await store.get(response))?.resource.index, index);
        }
      }
    },
  },
];
