/** The store contract on parts of conversations: pages, single items, and metadata that changes. */
import assert from 'node:assert/strict';
import { selectPage } from '../../engine/request/item-pages.ts';
import type { ConversationStore, ItemPageQuery, ResponseKey, WithAll } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { assertGoes, freshScope, type StoreCase } from './store-case.ts';
import {
  assertHolds,
  assertNothing,
  type ConversationSubject,
  conversation,
  conversationCase,
  itemsWithIds,
  itemWithId,
  messageItem,
} from './store-conversation-case.ts';
import { ODD_IDS } from './store-keeping-cases.ts';

const SOON = 2;
const ORDERS = ['asc', 'desc'] as const;

/** The cases about `page`, `find` and `update`; a store without one of them passes its cases. */
export const pageCases: readonly StoreCase[] = [
  methodCase('page', '[F-05] returns every requested page, in either order', async ({ conversations }, page) => {
    const made = conversation(freshScope(), 'conv_1');
    const held = [...itemsWithIds('a', 7), messageItem('nameless'), ...itemsWithIds('b', 3)];
    await conversations.put(made);
    await conversations.append(made, held);
    for (const query of queriesOver([1, 3, 100], ['a-0', 'a-6', 'none'])) await assertPage(page, made, query, held);
  }),
  methodCase(
    'page',
    '[F-05] returns current pages while items are added and removed',
    async ({ conversations }, page) => {
      const made = conversation(freshScope(), 'conv_1');
      let held: readonly Item[] = itemsWithIds('a', 5);
      await conversations.put(made);
      await conversations.append(made, held);
      for (const round of ['b', 'c', 'd']) {
        const queries = queriesOver([2], ['a-0', `${round}-1`]);
        for (const query of queries) await assertPage(page, made, query, held);
        await conversations.append(made, itemsWithIds(round, 3));
        held = [...held, ...itemsWithIds(round, 3)];
        for (const query of queries) await assertPage(page, made, query, held);
        await conversations.removeItem(made, `${round}-0`);
        held = held.filter(({ id }) => id !== `${round}-0`);
        for (const query of queries) await assertPage(page, made, query, held);
      }
    },
  ),
  methodCase(
    'page',
    '[F-05] returns no page of a missing conversation or of another scope’s',
    async (subject, page) => {
      const { conversations } = subject;
      const [mine, yours] = [conversation(freshScope(), 'conv_1'), conversation(freshScope(), 'conv_1')];
      await conversations.put(mine);
      await conversations.append(mine, itemsWithIds('a', 2));
      const { items: found, hasMore } = await page(yours, { limit: 5, order: 'asc' });
      assert.deepEqual([Array.from(found), hasMore], [[], false]);
      assert.deepEqual(Array.from((await page(yours, { limit: 5, order: 'asc', after: 'a-0' })).items), []);
    },
  ),
  methodCase(
    'page',
    '[F-05] starts with no items in a conversation that was deleted and created again',
    async (subject, page) => {
      const { conversations } = subject;
      const made = conversation(freshScope(), 'conv_1');
      for (const name of ['a', 'b']) {
        await conversations.put(made);
        await conversations.append(made, itemsWithIds(name, 3));
        await assertPage(page, made, { limit: 1, order: 'asc', after: 'b-0' }, itemsWithIds(name, 3));
        await conversations.delete(made);
      }
    },
  ),
  methodCase('find', '[F-05] finds items by their ids, however odd, and no missing ones', async (subject, find) => {
    const { conversations } = subject;
    const made = conversation(freshScope(), 'conv_1');
    const nameless: Item = { type: 'message', id: null };
    await conversations.put(made);
    await conversations.append(made, [...ODD_IDS.map(itemWithId), nameless, messageItem('nameless')]);
    const idsOf = async (key: ResponseKey, wanted: readonly string[]) =>
      Array.from(await find(key, wanted), ({ id }) => String(id)).toSorted();
    assert.deepEqual(await idsOf(made, [...ODD_IDS, 'none', 'null', 'undefined']), ODD_IDS.toSorted());
    assert.deepEqual(await idsOf(made, []), []);
    assert.deepEqual(await idsOf({ ...made, scope: freshScope() }, ODD_IDS), []);
    const [first = '', ...rest] = ODD_IDS;
    await conversations.removeItem(made, first);
    assert.deepEqual(await idsOf(made, ODD_IDS), rest.toSorted());
  }),
  methodCase(
    'update',
    '[F-10] replaces the metadata of a conversation, and keeps its items',
    async (subject, update) => {
      const { conversations } = subject;
      const made = conversation(freshScope(), 'conv_1');
      const renamed = { ...made, metadata: { title: 'renamed' } };
      await conversations.put(made);
      await conversations.append(made, itemsWithIds('a', 2));
      assert.equal(await update(renamed), true);
      await assertHolds(conversations, renamed, itemsWithIds('a', 2));
    },
  ),
  methodCase(
    'update',
    '[F-10] creates no conversation that was never put, was deleted, or is another scope’s',
    async (subject, update) => {
      const { conversations } = subject;
      const [mine, yours] = [conversation(freshScope(), 'conv_1'), conversation(freshScope(), 'conv_1')];
      const gone = conversation(mine.scope, 'conv_2');
      for (const made of [mine, gone]) await conversations.put(made);
      await conversations.delete(gone);
      for (const made of [yours, gone]) {
        assert.equal(await update(made), false);
        await assertNothing(conversations, made);
      }
      await assertHolds(conversations, mine, []);
    },
  ),
  methodCase(
    'update',
    '[F-10] does not restore a conversation that is deleted meanwhile',
    async ({ conversations }, update) => {
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      const updates = Array.from({ length: 10 }, () => update(made));
      await Promise.all([...updates.slice(0, 5), conversations.delete(made), ...updates.slice(5)]);
      await assertNothing(conversations, made);
    },
  ),
  methodCase(
    'update',
    '[F-10] [P-16] does not restore a conversation that has expired',
    async (subject, update) => {
      const { conversations } = subject;
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      await assertGoes({ ...subject, store: conversations }, made, SOON);
      assert.equal(await update(made), false);
      await assertNothing(conversations, made);
    },
    { ttlUnits: SOON },
  ),
];

type Methods = WithAll<Pick<ConversationStore, 'page' | 'find' | 'update'>>;

/** A case about one optional method, which it receives. */
function methodCase<Name extends keyof Methods>(
  method: Name,
  name: string,
  run: (subject: ConversationSubject, method: Methods[Name]) => Promise<void>,
  terms: Pick<StoreCase, 'ttlUnits'> = {},
): StoreCase {
  return conversationCase(name, {
    ...terms,
    async run(subject) {
      const { conversations } = subject;
      // The cast: `bind` loses the type that TypeScript has for the method by its name.
      const bound = conversations[method]?.bind(conversations) as Methods[Name] | undefined;
      if (bound) await run(subject, bound);
    },
  });
}

/** Every query with these limits, and these ids as either bound. */
function queriesOver(limits: readonly number[], ids: readonly string[]): readonly ItemPageQuery[] {
  const edges = [undefined, ...ids];
  return limits.flatMap((limit) =>
    ORDERS.flatMap((order) => edges.flatMap((after) => edges.map((before) => ({ limit, order, after, before })))),
  );
}

/** Asserts the page that the core computes from all items; of two unknown ids either may be reported. */
async function assertPage(
  page: Methods['page'],
  key: ResponseKey,
  query: ItemPageQuery,
  held: readonly Item[],
): Promise<void> {
  const [found, expected] = [await page(key, query), selectPage(held, query)].map(
    ({ items: shown, hasMore, unknown }) => ({
      items: Array.from(shown, (each) => JSON.stringify(each)),
      hasMore,
      isUnknown: unknown !== undefined,
    }),
  );
  assert.deepEqual(found, expected, JSON.stringify(query));
}
