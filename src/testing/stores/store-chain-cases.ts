/** The store contract on chains: a response and its ancestors, newest first. */
import assert from 'node:assert/strict';
import { type ResponseStore, readChain, type StoredResponse } from '../../ports/store.ts';
import { assertSame, freshScope, idsOfChain, type StoreCase, turn } from './store-case.ts';

/** The cases about chains; for a store without `chain`, the test follows them with `get`, as the core does. */
export const chainCases: readonly StoreCase[] = [
  {
    name: 'returns a response and its ancestors whole, newest first',
    async run({ store }) {
      const [first, second, third] = linked(freshScope(), ['resp_1', 'resp_2', 'resp_3']);
      await putAll(store, [first, second, third]);
      const chain = await readChain(store, third, 10);
      assert.equal(chain.length, 3);
      for (const [index, expected] of [third, second, first].entries()) assertSame(chain[index], expected);
    },
  },
  {
    name: 'returns a chain of 1,000 in order, and no more than the limit',
    async run({ store }) {
      const scope = freshScope();
      const ids = Array.from({ length: 1000 }, (_, index) => `resp_${index}`);
      // Put in the wrong order and at one time, so that only the links determine the order.
      await putAll(store, linked(scope, ids).reverse());
      const key = { scope, id: 'resp_999' };
      const newestFirst = ids.toReversed();
      for (const limit of [1, 7, 999, 1000, 2000]) {
        assert.deepEqual(await idsOfChain(store, key, limit), newestFirst.slice(0, limit));
      }
    },
  },
  {
    name: 'starts a chain at the requested response, not at the newest',
    async run({ store }) {
      const scope = freshScope();
      await putAll(store, linked(scope, ['resp_1', 'resp_2', 'resp_3']));
      assert.deepEqual(await idsOfChain(store, { scope, id: 'resp_2' }), ['resp_2', 'resp_1']);
    },
  },
  {
    name: 'returns an empty chain for an id that was never put',
    async run({ store }) {
      assert.deepEqual(await idsOfChain(store, { scope: freshScope(), id: 'resp_1' }), []);
    },
  },
  {
    name: 'ends a chain where an ancestor is missing',
    async run({ store }) {
      const scope = freshScope();
      const [, second, third] = linked(scope, ['resp_1', 'resp_2', 'resp_3']);
      await putAll(store, [second, third]);
      assert.deepEqual(await idsOfChain(store, third), ['resp_3', 'resp_2']);
    },
  },
  {
    name: 'keeps two continuations of one response apart',
    async run({ store }) {
      const scope = freshScope();
      const [root, left, leaf] = linked(scope, ['root', 'left', 'leaf']);
      const right = turn(scope, 'right', { previousId: 'root' });
      await putAll(store, [root, left, leaf, right]);
      assert.deepEqual(await idsOfChain(store, leaf), ['leaf', 'left', 'root']);
      assert.deepEqual(await idsOfChain(store, right), ['right', 'root']);
    },
  },
  {
    name: 'ends a chain where an ancestor was deleted, and lets the rest be continued',
    async run({ store }) {
      const [first, second, third, fourth] = linked(freshScope(), ['resp_1', 'resp_2', 'resp_3', 'resp_4']);
      await putAll(store, [first, second, third]);
      await store.delete(second);
      assert.deepEqual(await idsOfChain(store, third), ['resp_3']);
      await store.put(fourth);
      assert.deepEqual(await idsOfChain(store, fourth), ['resp_4', 'resp_3']);
      assert.deepEqual(await idsOfChain(store, first), ['resp_1']);
    },
  },
  {
    name: 'ends a chain that leads back to itself',
    async run({ store }) {
      const scope = freshScope();
      const [first, second] = [turn(scope, 'a', { previousId: 'b' }), turn(scope, 'b', { previousId: 'a' })];
      await putAll(store, [first, second]);
      const ids = await idsOfChain(store, second, 5);
      assert.deepEqual(ids, ['b', 'a', 'b', 'a', 'b'].slice(0, Math.max(ids.length, 2)));
    },
  },
];

async function putAll(store: ResponseStore, responses: readonly StoredResponse[]): Promise<void> {
  await Promise.all(responses.map((response) => store.put(response)));
}

/** One response for each id, each continuing the one before it, all made in the same millisecond. */
function linked<const Ids extends readonly string[]>(
  scope: string,
  ids: Ids,
): { [Place in keyof Ids]: StoredResponse } {
  const createdAt = Date.now();
  const turns = ids.map((id, index) =>
    turn(scope, id, { createdAt, ...(index === 0 ? {} : { previousId: ids[index - 1] }) }),
  );
  // The cast: map returns one response for each id, which its type cannot express.
  return turns as { [Place in keyof Ids]: StoredResponse };
}
