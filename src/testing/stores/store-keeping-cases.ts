/** The store contract on storage: a value that was put is found again, complete, at once and unchanged. */
import assert from 'node:assert/strict';
import type { Item } from '../../protocol/items.ts';
import { assertMissing, assertSame, freshScope, type StoreCase, sortedEntries, turn } from './store-case.ts';

const FIVE_MEGABYTES = 5 * 1024 * 1024;
/** Ids that careless storage confuses with something else. */
export const ODD_IDS = [
  '',
  ' ',
  '%',
  '*',
  "'",
  '"',
  '\\',
  '\u0000',
  '\ud800',
  '__proto__',
  'constructor',
  'x'.repeat(20_000),
];
/** Texts of many scripts. The last two break naive storage: a NUL ends a C string, a lone surrogate is not UTF-8. */
export const SCRIPTS = ['Größe', '日本語', 'עברית', '🧑‍🚀', 'e\u0301', '\u2028', 'a\u0000b', 'half \ud83d pair'];

/** One assistant message, mutable like a careless caller's. */
type EditableMessage = {
  type: 'message';
  content: { type: 'output_text'; text: string }[];
};

/** The cases about storage. */
export const keepingCases: readonly StoreCase[] = [
  {
    name: '[P-12] finds a response as soon as it is put',
    async run({ store }) {
      const response = turn(freshScope(), 'resp_1', { previousId: 'resp_0' });
      await store.put(response);
      assertSame(await store.get(response), response);
    },
  },
  {
    name: 'returns undefined for an id that was never put, however odd',
    async run({ store }) {
      const scope = freshScope();
      await store.put(turn(scope, 'resp_1'));
      for (const id of ODD_IDS) await assertMissing(store, { scope, id });
    },
  },
  {
    name: 'lets a second put replace the first',
    async run({ store }) {
      const scope = freshScope();
      const second = turn(scope, 'resp_1', { output: [], previousId: 'resp_0' });
      await store.put(turn(scope, 'resp_1'));
      await store.put(second);
      assertSame(await store.get(second), second);
    },
  },
  {
    name: 'returns true for a delete, and false when nothing is left to delete',
    async run({ store }) {
      const [gone, other] = [turn(freshScope(), 'resp_1'), turn(freshScope(), 'resp_2')];
      await Promise.all([store.put(gone), store.put(other)]);
      assert.deepEqual([await store.delete(gone), await store.delete(gone)], [true, false]);
      await assertMissing(store, gone);
      assertSame(await store.get(other), other);
    },
  },
  {
    name: '[T-09] returns true for one of ten concurrent deletes: an approval counts once',
    async run({ store }) {
      const gone = turn(freshScope(), 'resp_1');
      await store.put(gone);
      const answers = await Promise.all(Array.from({ length: 10 }, () => store.delete(gone)));
      assert.equal(answers.filter((answer) => answer).length, 1);
    },
  },
  {
    name: '[P-12] keeps all of 100 responses that are put at the same time',
    async run({ store }) {
      const scope = freshScope();
      const responses = Array.from({ length: 100 }, (_, index) => turn(scope, `resp_${index}`));
      await Promise.all(responses.map((response) => store.put(response)));
      for (const response of responses) assertSame(await store.get(response), response);
    },
  },
  {
    name: 'keeps one whole response if several are put under one id at the same time',
    async run({ store }) {
      const scope = freshScope();
      const rivals = Array.from({ length: 10 }, (_, index) =>
        turn(scope, 'resp_1', { output: [message(`rival ${index} `.repeat(1000))], resource: { rival: index } }),
      );
      await Promise.all(rivals.map((rival) => store.put(rival)));
      const stored = await store.get({ scope, id: 'resp_1' });
      const winner = rivals.find(({ resource }) => resource.rival === stored?.resource.rival);
      assertSame(stored, winner ?? turn(scope, 'resp_1'));
    },
  },
  {
    name: '[P-12] keeps a turn of 5 MB',
    async run({ store }) {
      const text = 'five megabytes '.repeat(FIVE_MEGABYTES / 15);
      const response = turn(freshScope(), 'resp_1', { output: [message(text)] });
      await store.put(response);
      const stored = await store.get(response);
      // Not deepEqual, whose difference would be unreadable.
      assert.ok(JSON.stringify(stored?.output) === JSON.stringify(response.output), 'the 5 MB came back changed');
    },
  },
  {
    name: 'keeps text of every script, NUL characters and half surrogate pairs included',
    async run({ store }) {
      const response = turn(freshScope(), 'resp_1', {
        input: SCRIPTS.map(message),
        output: [message(SCRIPTS.join('\n'))],
      });
      await store.put(response);
      assertSame(await store.get(response), response);
    },
  },
  {
    name: 'keeps item types and fields that it does not know, nulls and empty values included',
    async run({ store }) {
      const unknown: Item = { type: 'from_the_future', id: null, deep: [[{ a: [] }], {}, '', 0.1, 1e21, false] };
      const response = turn(freshScope(), 'resp_1', { input: [unknown, unknown], output: [unknown] });
      await store.put(response);
      assertSame(await store.get(response), response);
    },
  },
  {
    name: 'keeps metadata keys named __proto__ and constructor',
    async run({ store }) {
      // Written as JSON, as in a client's body: an object literal would set the prototype instead.
      const metadata: unknown = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}');
      const response = turn(freshScope(), 'resp_1', { resource: { metadata } });
      await store.put(response);
      const stored = await store.get(response);
      assert.equal(sortedEntries(stored?.resource.metadata), sortedEntries(metadata));
    },
  },
  {
    name: 'shows no later edit of what was put',
    async run({ store }) {
      const output = [message('before')];
      const response = turn(freshScope(), 'resp_1', { output });
      await store.put(response);
      edit(output);
      assertSame(await store.get(response), { ...response, output: [message('before')] });
    },
  },
  {
    name: 'shows no edit of what an earlier reader got',
    async run({ store }) {
      const response = turn(freshScope(), 'resp_1', { output: [message('before')] });
      await store.put(response);
      // The cast: a caller in JavaScript, which readonly does not stop.
      edit((await store.get(response))?.output as EditableMessage[]);
      assertSame(await store.get(response), response);
    },
  },
  {
    name: 'can be closed twice',
    async run({ store }) {
      await store.put(turn(freshScope(), 'resp_1'));
      await store.close?.();
      await assert.doesNotReject(async () => store.close?.());
    },
  },
];

function message(text: string): EditableMessage {
  return { type: 'message', content: [{ type: 'output_text', text }] };
}

function edit(output: EditableMessage[]): void {
  for (const part of output.flatMap(({ content }) => content)) part.text = 'edited';
  output.push(message('added'));
}
