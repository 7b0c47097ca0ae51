/** The vector index contract on filters, and the searches by meaning and by words. */
import assert from 'node:assert/strict';
import type { AttributeFilter, Attributes } from '../../ports/vectors/attributes.ts';
import {
  claimNext,
  createFilterer,
  createSearchable,
  fillStore,
  foundTexts,
  indexNext,
  makeFile,
  makeStore,
  query,
  type VectorCase,
  vector,
} from './vector-case.ts';

const FILES: Readonly<Record<string, Attributes>> = {
  none: {},
  one: { n: 1, s: 'apple', flag: true },
  ten: { n: 10, s: 'Zebra', flag: false },
  text: { n: '1', s: 'äpfel' },
  odd: { 'a"b.c[0]\\$': 'x', __proto__key: 1, ключ: '\ud83d\ude00', s: "'; DROP TABLE x; --" },
  part: { n: 1.5, s: '\uff61' },
};
const ALL = Object.keys(FILES).sort().join(' ');
const FILTERS: readonly (readonly [AttributeFilter, string])[] = [
  [{ type: 'eq', key: 'n', value: 1 }, 'one'],
  [{ type: 'eq', key: 'n', value: '1' }, 'text'],
  [{ type: 'eq', key: 'flag', value: false }, 'ten'],
  [{ type: 'eq', key: 's', value: "'; DROP TABLE x; --" }, 'odd'],
  [{ type: 'eq', key: 'a"b.c[0]\\$', value: 'x' }, 'odd'],
  [{ type: 'eq', key: 'constructor', value: 'x' }, ''],
  [{ type: 'ne', key: 'n', value: 1 }, 'none odd part ten text'],
  [{ type: 'gt', key: 'n', value: 1 }, 'part ten'],
  [{ type: 'gte', key: 'n', value: 1.5 }, 'part ten'],
  [{ type: 'lt', key: 'n', value: 10 }, 'one part'],
  [{ type: 'lte', key: 'n', value: 1e300 }, 'one part ten'],
  [{ type: 'gt', key: 'n', value: '0' }, 'text'],
  // By bytes: capitals first, then small letters, then non-ASCII characters.
  [{ type: 'lt', key: 's', value: 'apple' }, 'odd ten'],
  [{ type: 'gte', key: 's', value: 'apple' }, 'one part text'],
  // By bytes and not by UTF-16 units, of which the first of a pair is less than U+FF61.
  [{ type: 'gt', key: 'ключ', value: '\uff61' }, 'odd'],
  [{ type: 'in', key: 'n', value: [10, '1', true] }, 'ten text'],
  [{ type: 'in', key: 'n', value: [] }, ''],
  [{ type: 'nin', key: 'n', value: [10, '1'] }, 'none odd one part'],
  [{ type: 'nin', key: 'n', value: [] }, ALL],
  [{ type: 'and', filters: [] }, ALL],
  [{ type: 'or', filters: [] }, ''],
  [
    {
      type: 'and',
      filters: [
        {
          type: 'or',
          filters: [
            { type: 'eq', key: 'n', value: 1 },
            { type: 'gt', key: 'n', value: 5 },
          ],
        },
        { type: 'ne', key: 'flag', value: true },
      ],
    },
    'ten',
  ],
];

const HOSTILE = [
  '"',
  "'",
  'apples" OR text:*',
  'NEAR(apples pears, 2) AND NOT {x}: ^ - + *',
  "a' & !b | (c <-> d):*",
  'or and not -apples',
  '\u0000apples\u0000',
  '\ud800 apples \udfff',
  '?!… —',
  '',
  '%_\\',
  '\u202eתפוחים\u202c',
  'apples '.repeat(150_000),
  'x'.repeat(1_000_000),
  Array.from({ length: 5000 }, (_, at) => `word${at}`).join(' '),
];

export const searchCases: readonly VectorCase[] = [
  {
    name: '[X-14] finds the nearest chunks by cosine similarity, best first',
    async run({ index }) {
      const { store, file } = await createSearchable(index, {
        same: vector(20, 0),
        near: vector(1, 1),
        right: vector(0, 1),
        opposite: vector(-1, 0),
      });
      const found = await index.nearest(query([store]), vector(2, 0));
      assert.deepEqual(foundTexts(found), ['same', 'near', 'right', 'opposite']);
      const expected = [1, Math.SQRT1_2, 0, -1];
      for (const [at, { score }] of found.entries())
        assert.ok(Math.abs(score - (expected[at] ?? 9)) < 1e-5, `${score}`);
      const { score, ...second } = found[1] ?? { score: 0 };
      const { filename, attributes } = file;
      assert.deepEqual(second, { store: store.id, file: file.id, filename, attributes, place: 1, text: 'near' });
      assert.deepEqual(foundTexts(await index.nearest(query([store], undefined, 2), vector(2, 0))), ['same', 'near']);
    },
  },
  {
    name: '[X-14] ranks no result by a vector of zeros',
    async run({ index }) {
      const { store } = await createSearchable(index, { zero: vector(0, 0), one: vector(1, 0) });
      for (const wanted of [vector(1, 0), vector(0, 0)]) {
        const found = await index.nearest(query([store]), wanted);
        assert.ok(found.every(({ score }) => Number.isFinite(score)));
      }
    },
  },
  {
    name: '[X-14] finds chunks by any of their words, best first, at the same places as the other search',
    async run({ index }) {
      const { store } = await createSearchable(index, {
        'Red apples and green pears': vector(1, 0),
        'Blue plums, öl@example.com/path': vector(0, 1),
        'Green pears alone': vector(1, 1),
      });
      const found = await index.matching(query([store]), 'apples, or PEARS?');
      assert.deepEqual(foundTexts(found), ['Red apples and green pears', 'Green pears alone']);
      assert.deepEqual(
        Array.from(found, ({ place }) => place),
        [0, 2],
      );
      assert.ok((found[0]?.score ?? 0) > (found[1]?.score ?? 0));
      assert.deepEqual(foundTexts(await index.matching(query([store]), 'ÖL')), ['Blue plums, öl@example.com/path']);
      assert.deepEqual(foundTexts(await index.matching(query([store]), 'path')), ['Blue plums, öl@example.com/path']);
      assert.equal((await index.matching(query([store], undefined, 1), 'pears')).length, 1);
    },
  },
  {
    name: '[X-14] searches several vector stores, of which expired and unknown ones have no chunks',
    async run({ index, clock }) {
      const now = clock.now();
      const { store } = await createSearchable(index, { 'first fruit': vector(1, 0) });
      const { scope } = store;
      const other = await createSearchable(
        index,
        { 'second fruit': vector(1, 1) },
        { scope, lastActiveAt: now, expiresAfterMs: 60_000 },
      );
      const stores = [store, other.store, makeStore({ scope }), store];
      assert.deepEqual(foundTexts(await index.nearest(query(stores), vector(1, 0))), ['first fruit', 'second fruit']);
      assert.equal((await index.matching(query(stores), 'fruit')).length, 2);
      await clock.advance(120_000);
      assert.deepEqual(foundTexts(await index.nearest(query(stores), vector(1, 0))), ['first fruit']);
      assert.deepEqual(foundTexts(await index.matching(query(stores), 'fruit')), ['first fruit']);
      assert.equal((await index.getStore(other.store))?.id, other.store.id);
      assert.deepEqual([...(await index.nearest(query([other.store]), vector(1, 0, 0)))], []);
    },
  },
  {
    name: '[X-14] finds the files that match a filter in both searches',
    async run({ index }) {
      const search = await createFilterer(index, FILES);
      for (const [filter, names] of FILTERS) assert.equal(await search(filter), names, JSON.stringify(filter));
    },
  },
  {
    name: '[X-14] filters before it limits',
    async run({ index }) {
      const store = makeStore();
      const files = Array.from({ length: 60 }, (_, at) => makeFile(store, { createdAt: at, attributes: { at } }));
      await fillStore(index, store, files);
      for (const { createdAt } of files) await indexNext(index, { 'same word': vector(1, createdAt / 60) });
      const last = query([store], { type: 'gte', key: 'at', value: 58 }, 5);
      assert.equal((await index.nearest(last, vector(1, 0))).length, 2);
      assert.equal((await index.matching(last, 'word')).length, 2);
    },
  },
  {
    name: '[X-14] treats nothing in a searched text as an operator',
    async run({ index }) {
      const { store } = await createSearchable(index, { 'apples and word7': vector(1, 0) });
      for (const text of HOSTILE) {
        const found = await index.matching(query([store]), text);
        const hasWord = ['apples', 'word7', ' and '].some((word) => text.slice(0, 300).toLowerCase().includes(word));
        assert.equal(found.length, hasWord ? 1 : 0, JSON.stringify(text.slice(0, 50)));
      }
    },
  },
  {
    name: '[X-14] keeps any text in a chunk',
    async run({ index }) {
      const store = makeStore();
      const file = makeFile(store);
      await fillStore(index, store, [file]);
      const claim = await claimNext(index);
      const texts = ['a\u0000b \ud800', '', '\u202eתפוחים', 'long '.repeat(200_000), 'x'.repeat(300_000)];
      await index.addChunks(
        claim,
        0,
        texts.map((text) => ({ text, embedding: vector(1, 0) })),
      );
      await index.endClaim(claim, { status: 'completed' });
      const [first, ...rest] = await index.chunkTexts(file, 0, 9);
      // A NUL and a lone surrogate may be kept as U+FFFD.
      assert.equal(first?.replace('\u0000', '\ufffd').replace('\ud800', '\ufffd'), 'a\ufffdb \ufffd');
      assert.deepEqual(rest, texts.slice(1));
      assert.deepEqual(foundTexts(await index.matching(query([store]), 'תפוחים')), ['\u202eתפוחים']);
    },
  },
];
