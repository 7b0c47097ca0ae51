/** The store contract on conversations: lists of items to which many turns, on many nodes, append at the same time. */
import assert from 'node:assert/strict';
import type { StoredConversation } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { assertGoes, assertSame, elapse, freshScope, type StoreCase, sortedEntries, turn } from './store-case.ts';
import {
  assertHolds,
  assertNothing,
  conversation,
  conversationCase,
  itemsWithIds,
  itemWithId,
  messageItem,
} from './store-conversation-case.ts';
import { ODD_IDS, SCRIPTS } from './store-keeping-cases.ts';
import { LOOKALIKES, SEPARATORS } from './store-scope-cases.ts';

const ONE_MEGABYTE = 1024 * 1024;
const SOON = 2;
const LATER = 4;

/** The cases about conversations. */
export const conversationCases: readonly StoreCase[] = [
  conversationCase('[S-17] finds a conversation, at first without items, as soon as it is put', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      await assertHolds(conversations, made, []);
    },
  }),
  conversationCase('[S-17] has nothing under an id that was never put, however odd', {
    async run({ conversations }) {
      const scope = freshScope();
      await conversations.put(conversation(scope, 'conv_1'));
      for (const id of ODD_IDS) await assertNothing(conversations, { scope, id });
    },
  }),
  conversationCase('[S-17] replaces the metadata at a second put, and keeps the items', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      const renamed = { ...made, metadata: { title: 'renamed' } };
      await conversations.put(made);
      await conversations.append(made, itemsWithIds('a', 2));
      await conversations.put(renamed);
      await assertHolds(conversations, renamed, itemsWithIds('a', 2));
    },
  }),
  conversationCase('[S-17] deletes the items with the conversation, and returns whether there was one', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      await conversations.append(made, itemsWithIds('a', 2));
      assert.deepEqual([await conversations.delete(made), await conversations.delete(made)], [true, false]);
      await assertNothing(conversations, made);
      await conversations.put(made);
      await assertHolds(conversations, made, []);
    },
  }),
  conversationCase('[S-17] leaves no item of a conversation that is deleted while turns are added', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      const appends = Array.from({ length: 10 }, (_, index) =>
        conversations.append(made, itemsWithIds(`a${index}`, 3)),
      );
      await Promise.all([...appends.slice(0, 5), conversations.delete(made), ...appends.slice(5)]);
      await assertNothing(conversations, made);
      await conversations.put(made);
      await assertHolds(conversations, made, []);
    },
  }),
  conversationCase('[S-17] returns whether there is a conversation to append to, even if there is nothing to add', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      const other = { ...made, id: 'conv_2' };
      await conversations.put(made);
      const answers = [];
      for (const key of [made, other])
        for (const added of [itemsWithIds('a', 1), []]) answers.push(await conversations.append(key, added));
      assert.deepEqual(answers, [true, true, false, false]);
      await assertHolds(conversations, made, itemsWithIds('a', 1));
      await assertNothing(conversations, other);
    },
  }),
  conversationCase('[S-17] keeps the order of items over many appends', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      // Past 100, where ordering by text instead of number fails; the sizes differ so that none is assumed.
      const appends = Array.from({ length: 120 }, (_, index) => itemsWithIds(`a${index}`, index % 4));
      await conversations.put(made);
      for (const added of appends) await conversations.append(made, added);
      await assertHolds(conversations, made, appends.flat());
    },
  }),
  conversationCase('[S-17] neither loses nor interleaves 50 appends at the same time', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      const appends = Array.from({ length: 50 }, (_, index) => itemsWithIds(`a${index}`, 3));
      await conversations.put(made);
      await Promise.all(appends.map((added) => conversations.append(made, added)));
      const found = await conversations.items(made);
      const groups = appends.map((_, index) => JSON.stringify(found.slice(3 * index, 3 * index + 3)));
      assert.equal(found.length, 150);
      assert.deepEqual(groups.toSorted(), appends.map((added) => JSON.stringify(added)).toSorted());
    },
  }),
  conversationCase('[S-17] creates one conversation if it is put ten times at the same time', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      await Promise.all(Array.from({ length: 10 }, () => conversations.put(made)));
      await conversations.append(made, itemsWithIds('a', 1));
      await assertHolds(conversations, made, itemsWithIds('a', 1));
    },
  }),
  conversationCase('[S-17] removes the item with one id, and keeps the others in order', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      const [first, second, third] = [itemWithId('first'), itemWithId('second'), itemWithId('third')];
      await conversations.put(made);
      await conversations.append(made, [first, second, third]);
      const answers = [await conversations.removeItem(made, 'second'), await conversations.removeItem(made, 'second')];
      await conversations.append(made, itemsWithIds('last', 1));
      assert.deepEqual(answers, [true, false]);
      await assertHolds(conversations, made, [first, third, ...itemsWithIds('last', 1)]);
    },
  }),
  conversationCase('[S-17] removes items with odd ids, and none whose id is absent or null', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      const nameless: readonly Item[] = [{ type: 'message' }, { type: 'message', id: null }];
      await conversations.put(made);
      await conversations.append(made, [...ODD_IDS.map(itemWithId), ...nameless]);
      const answers = [];
      for (const id of [...ODD_IDS, 'null', 'undefined']) answers.push(await conversations.removeItem(made, id));
      assert.deepEqual(answers, [...ODD_IDS.map(() => true), false, false]);
      await assertHolds(conversations, made, nameless);
    },
  }),
  conversationCase('[S-17] keeps items of every kind and script as they were', {
    async run({ conversations }) {
      const unknown: Item = { type: 'from_the_future', id: null, deep: [[{ a: [] }], {}, '', 0.1, 1e21, false] };
      const added = [...SCRIPTS.map(messageItem), messageItem(SCRIPTS.join('\n')), unknown, unknown];
      const made = { ...conversation(freshScope(), 'conv_1'), metadata: { every: SCRIPTS.join('\n') } };
      await conversations.put(made);
      await conversations.append(made, added);
      await assertHolds(conversations, made, added);
    },
  }),
  conversationCase('[S-17] keeps metadata keys named __proto__ and constructor', {
    async run({ conversations }) {
      const scope = freshScope();
      // Through JSON, as in a client's body: an object literal would set the prototype instead.
      const text = JSON.stringify(conversation(scope, 'conv_1')).replace('"title"', '"__proto__":"a","constructor"');
      const made: StoredConversation = JSON.parse(text);
      await conversations.put(made);
      const found = await conversations.get(made);
      assert.equal(sortedEntries(found?.metadata), sortedEntries(made.metadata));
    },
  }),
  conversationCase('[S-17] keeps an item of 1 MB', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      const large = messageItem('megabyte'.repeat(ONE_MEGABYTE / 8));
      await conversations.put(made);
      await conversations.append(made, [itemWithId('before'), large, itemWithId('after')]);
      const found = await conversations.items(made);
      // Not deepEqual, whose difference would be unreadable.
      assert.ok(JSON.stringify(found[1]) === JSON.stringify(large), 'the 1 MB came back changed');
      assert.equal(found.length, 3);
    },
  }),
  conversationCase('[S-17] shows no later edit of what was put, appended or read', {
    async run({ conversations }) {
      const made = { ...conversation(freshScope(), 'conv_1'), metadata: { title: 'before' } };
      const added = [{ type: 'message', content: [{ text: 'before' }] }];
      await conversations.put(made);
      await conversations.append(made, added);
      edit(made, added);
      // The casts: callers in JavaScript, which readonly does not stop.
      edit((await conversations.get(made)) as typeof made, (await conversations.items(made)) as typeof added);
      const before = { type: 'message', content: [{ text: 'before' }] };
      await assertHolds(conversations, { ...made, metadata: { title: 'before' } }, [before]);
    },
  }),
  conversationCase('[S-17] keeps a conversation and a response of the same id apart', {
    async run({ store, conversations }) {
      const made = conversation(freshScope(), 'same');
      const response = turn(made.scope, 'same');
      await store.put(response);
      await assertNothing(conversations, made);
      await conversations.put(made);
      await conversations.append(made, itemsWithIds('a', 1));
      assertSame(await store.get(response), response);
      await store.delete(response);
      await assertHolds(conversations, made, itemsWithIds('a', 1));
      await store.put(response);
      await conversations.delete(made);
      assertSame(await store.get(response), response);
    },
  }),
  conversationCase('[P-13] keeps another scope’s conversation from every method', {
    async run({ conversations }) {
      const [mine, yours] = [conversation(freshScope(), 'conv_1'), conversation(freshScope(), 'conv_1')];
      await conversations.put(mine);
      await conversations.append(mine, itemsWithIds('mine', 2));
      await assertNothing(conversations, yours);
      await conversations.put({ ...yours, metadata: {} });
      await conversations.append(yours, itemsWithIds('yours', 1));
      const gone = [await conversations.removeItem(yours, 'mine-0'), await conversations.delete(yours)];
      assert.deepEqual(gone, [false, true]);
      await assertHolds(conversations, mine, itemsWithIds('mine', 2));
    },
  }),
  conversationCase('[P-13] keeps conversations apart if their scopes and ids only look alike', {
    async run({ conversations }) {
      const pairs = [
        // Equal if scope and id are joined by the separator.
        ...SEPARATORS.map((separator) => {
          const scope = freshScope();
          return [conversation(scope, `b${separator}c`), conversation(`${scope}${separator}b`, 'c')] as const;
        }),
        // Ids that a careless comparison treats as equal.
        ...LOOKALIKES.map(([one, other]) => {
          const scope = freshScope();
          return [conversation(scope, one), conversation(scope, other)] as const;
        }),
      ];
      for (const [one, other] of pairs) {
        await conversations.put(one);
        await assertNothing(conversations, other);
        await conversations.put(other);
        await conversations.append(other, itemsWithIds('other', 1));
        await assertHolds(conversations, one, []);
        await assertHolds(conversations, other, itemsWithIds('other', 1));
      }
    },
  }),
  conversationCase('[P-16] drops a conversation and its items when the store’s time to live is over', {
    ttlUnits: SOON,
    async run(subject) {
      const { conversations } = subject;
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      await conversations.append(made, itemsWithIds('a', 1));
      await assertHolds(conversations, made, itemsWithIds('a', 1));
      await assertGoes({ ...subject, store: conversations }, made, SOON);
      await assertNothing(conversations, made);
      await conversations.put(made);
      await assertHolds(conversations, made, []);
    },
  }),
  conversationCase('[P-16] renews a conversation’s time to live at each put and append', {
    ttlUnits: LATER,
    async run(subject) {
      const { conversations } = subject;
      const scope = freshScope();
      const [idle, renamed, continued] = [
        conversation(scope, 'idle'),
        conversation(scope, 'renamed'),
        conversation(scope, 'continued'),
      ];
      for (const made of [idle, renamed, continued]) await conversations.put(made);
      await elapse(subject, LATER / 2);
      await conversations.put(renamed);
      await conversations.append(continued, itemsWithIds('a', 1));
      await assertGoes({ ...subject, store: conversations }, idle, LATER / 2);
      await assertHolds(conversations, renamed, []);
      await assertHolds(conversations, continued, itemsWithIds('a', 1));
    },
  }),
];

function edit(made: { metadata: { title: string } }, added: { content: { text: string }[] }[]): void {
  made.metadata.title = 'edited';
  for (const part of added.flatMap(({ content }) => content)) part.text = 'edited';
  added.pop();
}
