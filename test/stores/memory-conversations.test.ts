/** The items of a conversation in memory: as a plain list would have them, at a cost that does not grow with it. */
import fc from 'fast-check';
import type { Item } from '../../src/protocol/items.ts';
import { memoryStore } from '../../src/stores/memory/memory-store.ts';
import { expectLinearWork } from '../support/linear-work.ts';

const KEY = { scope: 's', id: 'conv_1' };

function conversation() {
  const { conversations } = memoryStore();
  conversations.put({ ...KEY, createdAt: 0, metadata: {} });
  return conversations;
}

const itemOf = (id: string): Item => ({ type: 'message', id, role: 'user', content: [] });

it('[F-05] take time in proportion where thousands are taken out one by one, as of a turn that was overruled', async () => {
  await expectLinearWork(2_000, async (size) => {
    const conversations = conversation();
    const items = Array.from({ length: size }, (_, index) => itemOf(`msg_${index}`));
    conversations.append(KEY, items);
    for (const { id } of items) conversations.removeItem(KEY, String(id));
    expect(conversations.items(KEY)).toEqual([]);
  });
});

/** What is done to the conversation: ids that come, or one that goes. */
const change = fc.oneof(
  fc.record({ add: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 }) }),
  fc.record({ remove: fc.constantFrom('a', 'b', 'c', 'd') }),
);

it('are those of a plain list, whatever is added and taken out', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(change, fc.boolean()), { maxLength: 12 }), (changes) => {
      const conversations = conversation();
      let list: readonly string[] = [];
      for (const [each, isLooked] of changes) {
        if ('add' in each) conversations.append(KEY, each.add.map(itemOf));
        else expect(conversations.removeItem(KEY, each.remove)).toBe(list.includes(each.remove));
        list = 'add' in each ? [...new Set([...list, ...each.add])] : list.filter((id) => id !== each.remove);
        const found = conversations.find(KEY, ['a', 'c']).map(({ id }) => id);
        expect(found).toEqual(['a', 'c'].filter((id) => list.includes(id)));
        if (!isLooked) continue;
        const page = conversations.page(KEY, { limit: 2, order: 'asc', after: undefined, before: undefined });
        expect([page.items.map(({ id }) => id), page.hasMore]).toEqual([list.slice(0, 2), list.length > 2]);
      }
      expect(conversations.items(KEY).map(({ id }) => id)).toEqual(list);
      expect(
        conversations.append(KEY, [itemOf('e')], { maxBytes: JSON.stringify(itemOf('a')).length * (list.length + 1) }),
      ).toBe(true);
    }),
  );
});
