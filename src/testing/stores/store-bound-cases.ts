/** The store contract on limits: a store that supports `maxBytes` reads and keeps no more than it allows. */
import assert from 'node:assert/strict';
import { readChain } from '../../ports/store.ts';
import { freshScope, type StoreCase, turn } from './store-case.ts';
import { assertHolds, conversation, conversationCase, itemsWithIds } from './store-conversation-case.ts';

const TOO_MANY = { name: 'StoreError', code: 'too_many_bytes' };

/** Far larger than the data around it. */
const TEXT = 'x'.repeat(10_000);

/** Cases about the limit of `chain`. */
export const chainBoundCases: readonly StoreCase[] = [
  {
    name: '[F-05] refuses a chain that takes more bytes than allowed, and returns one that takes fewer',
    async run({ store }) {
      const scope = freshScope();
      const ids = Array.from({ length: 10 }, (_, index) => `resp_${index}`);
      for (const [index, id] of ids.entries()) {
        const previousId = ids[index - 1];
        await store.put(turn(scope, id, { resource: { text: TEXT }, ...(previousId && { previousId }) }));
      }
      const chain = async (limit: number, maxBytes?: number) =>
        (await readChain(store, { scope, id: 'resp_9' }, limit, maxBytes)).length;
      await assert.rejects(chain(100, 5 * TEXT.length), TOO_MANY);
      await assert.rejects(chain(1, TEXT.length), TOO_MANY);
      const lengths = [await chain(100, 20 * TEXT.length), await chain(3, 5 * TEXT.length), await chain(100)];
      assert.deepEqual(lengths, [10, 3, 10]);
    },
  },
];

/** Cases about the limits of conversations. */
export const conversationBoundCases: readonly StoreCase[] = [
  conversationCase('[F-05] adds nothing to a conversation that would take more bytes than allowed', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      const large = (id: string) => ({ type: 'message', id, text: TEXT });
      await conversations.put(made);
      const append = (id: string, maxBytes?: number) => conversations.append(made, [large(id)], { maxBytes });
      const bound = 2.9 * TEXT.length;
      assert.deepEqual(
        [await append('a', bound), await append('b', bound), await append('c', bound)],
        [true, true, 'full'],
      );
      await assertHolds(conversations, made, [large('a'), large('b')]);
      await conversations.removeItem(made, 'a');
      assert.deepEqual([await append('c', bound), await append('d', bound), await append('d')], [true, 'full', true]);
      await assertHolds(conversations, made, ['b', 'c', 'd'].map(large));
      assert.equal(await conversations.append({ ...made, id: 'conv_2' }, itemsWithIds('a', 1), { maxBytes: 1 }), false);
    },
  }),
  conversationCase('[F-05] keeps the bound when many append at the same time', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      const added = Array.from({ length: 20 }, (_, index) => [{ type: 'message', id: `msg_${index}`, text: TEXT }]);
      const answers = await Promise.all(
        added.map((each) => conversations.append(made, each, { maxBytes: 4.9 * TEXT.length })),
      );
      assert.equal(answers.filter((answer) => answer === true).length, 4);
      assert.equal((await conversations.items(made)).length, 4);
    },
  }),
  conversationCase('[F-05] refuses the items of a conversation that take more bytes than allowed', {
    async run({ conversations }) {
      const made = conversation(freshScope(), 'conv_1');
      await conversations.put(made);
      for (const id of ['a', 'b']) await conversations.append(made, [{ type: 'message', id, text: TEXT }]);
      const read = async (maxBytes: number) => (await conversations.items(made, maxBytes)).length;
      await assert.rejects(read(1.5 * TEXT.length), TOO_MANY);
      await conversations.put(made);
      assert.equal(await read(3 * TEXT.length), 2);
      await conversations.removeItem(made, 'a');
      assert.equal(await read(1.5 * TEXT.length), 1);
    },
  }),
];
