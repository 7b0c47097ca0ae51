/** The store contract on conditional writes: of several writers that end one response, one succeeds, and nothing deleted comes back. */
import assert from 'node:assert/strict';
import type { ResponseStore, StoredResponse, WithAll } from '../../ports/store.ts';
import { assertGoes, assertMissing, assertSame, freshScope, type StoreCase, turn } from './store-case.ts';

const SOON = 2;

type ReplaceableStore = ResponseStore & WithAll<Pick<ResponseStore, 'replace'>>;

/** The cases about `replace`; a store without it passes. */
export const replaceCases: readonly StoreCase[] = [
  replaceCase('[F-10] replaces a response with the expected version, and refuses any other', async (store) => {
    const first = turn(freshScope(), 'resp_1');
    const [second, third] = [changedResponse(first, 1), changedResponse(first, 2)];
    await store.put(first);
    const answers = [
      await store.replace(third, 1),
      await store.replace(second, 0),
      await store.replace(second, 0),
      await store.replace(third, 1),
    ];
    assert.deepEqual(answers, [false, true, false, true]);
    assertSame(await store.get(first), third);
  }),
  replaceCase('[F-10] compares with the new version of a response that was put again', async (store) => {
    const first = turn(freshScope(), 'resp_1');
    for (const response of [first, changedResponse(first, 5)]) await store.put(response);
    assert.deepEqual(
      [await store.replace(changedResponse(first, 6), 0), await store.replace(changedResponse(first, 6), 5)],
      [false, true],
    );
    await store.put(first);
    assert.deepEqual(
      [await store.replace(changedResponse(first, 7), 6), await store.replace(changedResponse(first, 1), 0)],
      [false, true],
    );
  }),
  replaceCase('[F-10] changes the place in the chain with the response', async (store) => {
    const first = turn(freshScope(), 'resp_1', { previousId: 'resp_0' });
    const { previousId: _, ...second } = changedResponse(first, 1);
    await store.put(first);
    await store.replace(second, 0);
    assertSame(await store.get(first), second);
  }),
  replaceCase('[F-10] creates no response that was never put, or was deleted', async (store) => {
    const gone = turn(freshScope(), 'resp_1');
    const never = turn(gone.scope, 'resp_2');
    await store.put(gone);
    await store.delete(gone);
    for (const version of [0, 1])
      for (const response of [gone, never])
        assert.equal(await store.replace(changedResponse(response, version), version), false);
    for (const response of [gone, never]) await assertMissing(store, response);
  }),
  replaceCase('[F-10] [P-13] replaces no response of another scope', async (store) => {
    const [mine, yours] = [turn(freshScope(), 'resp_1'), turn(freshScope(), 'resp_1')];
    await store.put(mine);
    assert.equal(await store.replace(changedResponse(yours, 1), 0), false);
    assertSame(await store.get(mine), mine);
    await assertMissing(store, yours);
  }),
  replaceCase('[F-10] lets one of ten concurrent replacements of one version succeed', async (store) => {
    const first = turn(freshScope(), 'resp_1');
    await store.put(first);
    const rivals = Array.from({ length: 10 }, (_, rival) => changedResponse(first, 1, { rival }));
    const answers = await Promise.all(rivals.map((rival) => store.replace(rival, 0)));
    assert.equal(answers.filter((answer) => answer).length, 1);
    assertSame(await store.get(first), rivals[answers.indexOf(true)] ?? first);
  }),
  replaceCase('[F-10] leaves nothing of a response that is deleted while ten replace it', async (store) => {
    const first = turn(freshScope(), 'resp_1');
    await store.put(first);
    const replaced = (from: number) =>
      Array.from({ length: 5 }, (_, index) => store.replace(changedResponse(first, from + index + 1), from + index));
    await Promise.all([...replaced(0), store.delete(first), ...replaced(5)]);
    await assertMissing(store, first);
  }),
  {
    name: '[F-10] [P-16] does not restore a response that has expired',
    ttlUnits: SOON,
    async run(subject) {
      const { store } = subject;
      if (!canReplace(store)) return;
      const first = turn(freshScope(), 'resp_1');
      await store.put(first);
      await assertGoes(subject, first, SOON);
      assert.equal(await store.replace(changedResponse(first, 1), 0), false);
      await assertMissing(store, first);
    },
  },
];

function replaceCase(name: string, run: (store: ReplaceableStore) => Promise<void>): StoreCase {
  return { name, run: async ({ store }) => (canReplace(store) ? run(store) : undefined) };
}

function canReplace(store: ResponseStore): store is ReplaceableStore {
  return store.replace !== undefined;
}

function changedResponse(response: StoredResponse, version: number, more: object = {}): StoredResponse {
  return { ...response, output: [], resource: { status: 'completed', change: version, ...more }, version };
}
