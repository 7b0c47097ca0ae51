/** The store contract on appends to a conversation: each id once, and one process for each turn. */
import assert from 'node:assert/strict';
import type { ConversationStore, ResponseKey, StoredConversation, TurnFence } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { freshScope, type StoreCase } from './store-case.ts';
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

const ORDERS = ['asc', 'desc'] as const;

/** The cases about ids that are there already, and about turns that are taken over. */
export const appendCases: readonly StoreCase[] = [
  appendCase(
    '[G-10] leaves out items whose ids are there already, and keeps the others in order',
    async (held, made) => {
      const text = { ...itemWithId('a-1'), role: 'assistant' };
      await held.append(made, itemsWithIds('a', 2));
      assert.equal(
        await held.append(made, [itemWithId('b'), text, itemWithId('c'), itemWithId('b'), messageItem('nameless')]),
        true,
      );
      assert.equal(await held.append(made, itemsWithIds('a', 2)), true);
      await assertHolds(held, made, [
        ...itemsWithIds('a', 2),
        itemWithId('b'),
        itemWithId('c'),
        messageItem('nameless'),
      ]);
    },
  ),
  appendCase('[G-10] adds nothing if an id is there already that is to be refused', async (held, made) => {
    await held.append(made, itemsWithIds('a', 2));
    const refuse = (added: readonly Item[]) => held.append(made, added, { onKnown: 'refuse' });
    const answers = [
      await refuse([itemWithId('b'), itemWithId('a-1')]),
      await refuse([itemWithId('b'), itemWithId('b')]),
    ];
    assert.deepEqual([...answers, await refuse([itemWithId('b'), itemWithId('c')])], ['known', 'known', true]);
    await assertHolds(held, made, [...itemsWithIds('a', 2), itemWithId('b'), itemWithId('c')]);
  }),
  appendCase('[G-10] adds an id again that was removed', async (held, made) => {
    await held.append(made, itemsWithIds('a', 3));
    await held.removeItem(made, 'a-0');
    assert.equal(await held.append(made, [itemWithId('a-0')], { onKnown: 'refuse' }), true);
    await assertHolds(held, made, [itemWithId('a-1'), itemWithId('a-2'), itemWithId('a-0')]);
  }),
  appendCase('[G-10] has each id once after 30 appends at the same time that share their ids', async (held, made) => {
    const appends = Array.from({ length: 30 }, (_, index) => [
      itemWithId('same'),
      itemWithId(`own-${index}`),
      itemWithId('same-too'),
    ]);
    await Promise.all(appends.map((added) => held.append(made, added)));
    const ids = (await held.items(made)).map(({ id }) => String(id));
    assert.deepEqual(ids.toSorted(), [...appends.map(([, own]) => String(own?.id)), 'same', 'same-too'].toSorted());
    assert.ok(ids.indexOf('same') < ids.indexOf('same-too'));
    await assertPages(held, made, ids);
  }),
  appendCase('[G-10] accepts one of ten appends at the same time that refuse known ids', async (held, made) => {
    const appends = Array.from({ length: 10 }, (_, index) => [itemWithId(`own-${index}`), itemWithId('same')]);
    const answers = await Promise.all(appends.map((added) => held.append(made, added, { onKnown: 'refuse' })));
    const accepted = appends.filter((_, index) => answers[index] === true);
    assert.equal(accepted.length, 1);
    await assertHolds(held, made, accepted.flat());
  }),
  appendCase('[G-10] refuses a process that wakes up after another one has ended its turn', async (held, made) => {
    const [early, late] = fences('resp_1');
    assert.equal(await held.append(made, itemsWithIds('a', 2), { turn: late }), true);
    assert.equal(await held.append(made, [...itemsWithIds('a', 2), itemWithId('stale')], { turn: early }), 'overruled');
    await held.removeItem(made, 'a-1');
    assert.equal(await held.append(made, itemsWithIds('a', 2), { turn: early }), 'overruled');
    assert.equal(await held.append(made, [], { turn: early }), 'overruled');
    await assertHolds(held, made, itemsWithIds('a', 1));
  }),
  appendCase('[G-10] replaces what a lost process added to a turn by what its successor adds', async (held, made) => {
    const [early, late] = fences('resp_1');
    await held.append(made, [itemWithId('before')]);
    await held.append(made, [itemWithId('before'), ...itemsWithIds('a', 3)], { turn: early });
    await held.append(made, [itemWithId('other')], { turn: { id: 'resp_2', epoch: 1 } });
    const answer = { ...itemWithId('a-1'), role: 'assistant' };
    assert.equal(await held.append(made, [itemWithId('a-0'), answer], { turn: late }), true);
    await assertHolds(held, made, [itemWithId('before'), itemWithId('other'), itemWithId('a-0'), answer]);
    await assertPages(held, made, ['before', 'other', 'a-0', 'a-1']);
  }),
  appendCase('[G-10] adds the items of a turn once if its append is repeated', async (held, made) => {
    const [turn] = fences('resp_1');
    await held.append(made, itemsWithIds('a', 2), { turn });
    await held.append(made, [itemWithId('between')]);
    assert.equal(await held.append(made, itemsWithIds('a', 2), { turn }), true);
    await assertHolds(held, made, [...itemsWithIds('a', 2), itemWithId('between')]);
  }),
  appendCase('[G-10] takes back what a turn added, and no item of another one', async (held, made) => {
    const [early, late] = fences('resp_1');
    await held.append(made, [itemWithId('shared')]);
    await held.append(made, [itemWithId('shared'), ...itemsWithIds('a', 2)], { turn: early });
    await held.append(made, [itemWithId('a-0'), itemWithId('other')], { turn: { id: 'resp_2', epoch: 3 } });
    assert.equal(await held.append(made, [], { turn: late }), true);
    await assertHolds(held, made, [itemWithId('shared'), itemWithId('other')]);
    assert.equal(await held.append(made, itemsWithIds('a', 2), { turn: early }), 'overruled');
    assert.equal(await held.append(made, itemsWithIds('a', 2), { turn: late }), true);
    await assertHolds(held, made, [itemWithId('shared'), itemWithId('other'), ...itemsWithIds('a', 2)]);
  }),
  appendCase('[G-10] forgets the turns of a conversation with it', async (held, made, { conversations }) => {
    const [early, late] = fences('resp_1');
    await held.append(made, itemsWithIds('a', 1), { turn: late });
    await conversations.delete(made);
    assert.equal(await held.append(made, itemsWithIds('a', 1), { turn: late }), false);
    await assertNothing(held, made);
    await conversations.put(made);
    assert.equal(await held.append(made, itemsWithIds('a', 1), { turn: early }), true);
    await assertHolds(held, made, itemsWithIds('a', 1));
  }),
];

/** The cases about the limit of such appends, for a store that enforces it. */
export const appendBoundCases: readonly StoreCase[] = [
  appendCase('[G-10] counts only the bytes of items that it adds, less those that it replaces', async (held, made) => {
    const [early, late] = fences('resp_1');
    const large = (id: string) => ({ type: 'message', id, text: 'x'.repeat(10_000) });
    const maxBytes = 29_000;
    await held.append(made, [large('a')]);
    assert.equal(await held.append(made, [large('a'), large('b')], { maxBytes, turn: early }), true);
    assert.equal(await held.append(made, [large('b'), large('c')], { maxBytes }), 'full');
    assert.equal(await held.append(made, [large('c'), large('d')], { maxBytes, turn: late }), 'full');
    assert.equal(await held.append(made, [large('c')], { maxBytes, turn: late }), true);
    assert.equal(await held.append(made, [large('c'), large('a')], { maxBytes }), true);
    await assertHolds(held, made, [large('a'), large('c')]);
  }),
];

/** A case about an empty conversation. */
function appendCase(
  name: string,
  run: (conversations: ConversationStore, made: StoredConversation, subject: ConversationSubject) => Promise<void>,
): StoreCase {
  return conversationCase(name, {
    async run(subject) {
      const made = conversation(freshScope(), 'conv_1');
      await subject.conversations.put(made);
      await run(subject.conversations, made, subject);
    },
  });
}

/** One turn, of the process that began it and of the one that took it over. */
function fences(id: string): readonly [TurnFence, TurnFence] {
  return [
    { id, epoch: 1 },
    { id, epoch: 2 },
  ];
}

/** Asserts that paging reads each id once, in either order; a store without pages passes. */
async function assertPages(
  conversations: ConversationStore,
  key: ResponseKey,
  expected: readonly string[],
): Promise<void> {
  for (const order of ORDERS) {
    const ids: string[] = [];
    for (let hasMore = conversations.page !== undefined; hasMore && ids.length <= expected.length; ) {
      const page = await conversations.page?.(key, { limit: 2, order, after: ids.at(-1) });
      ids.push(...Array.from(page?.items ?? [], ({ id }) => String(id)));
      hasMore = page?.hasMore === true;
    }
    if (conversations.page) assert.deepEqual(order === 'asc' ? ids : ids.toReversed(), expected);
  }
}
