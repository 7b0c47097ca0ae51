/** The index of vector stores in SQLite with more than is read at once. */
import { sqliteVectors } from '../../../src/stores/sqlite/sqlite-vectors.ts';
import {
  claimNext,
  fillStore,
  foundTexts,
  indexNext,
  makeFile,
  makeStore,
  query,
  vector,
} from '../../../src/testing/vectors/vector-case.ts';
import { describeDrivers } from '../../stores/sqlite-drivers.ts';

const FILES = 1100;
const FREQUENT = 20_000;

describeDrivers((open) => {
  it('[X-14] finds files of every piece that a filter is read in, in each vector store', async () => {
    const database = open(':memory:');
    const index = sqliteVectors({ database });
    const stores = [makeStore({ scope: 'a' }), makeStore({ scope: 'a' })];
    const marked = new Set([0, 511, 512, 1023, 1024, FILES - 1]);
    for (const store of stores) {
      const id = (at: number) => `file-${String(at).padStart(4, '0')}`;
      const attributes = (at: number) => ({ marked: marked.has(at) });
      const files = Array.from({ length: FILES }, (_, at) =>
        makeFile(store, { id: id(at), attributes: attributes(at) }),
      );
      await fillStore(index, store, files);
      for (const _ of files) await indexNext(index, { word: vector(1, 0) });
    }
    const wanted = query(stores, { type: 'eq', key: 'marked', value: true }, 50);
    const found = [await index.nearest(wanted, vector(1, 0)), await index.matching(wanted, 'word')];
    expect(found.map(({ length }) => length)).toEqual([2 * marked.size, 2 * marked.size]);
    expect(await index.nearest(query(stores, undefined, 5000), vector(1, 0))).toHaveLength(2 * FILES);
    database.close();
  });

  it('[X-14] leaves out frequent words where there are rarer ones, counted in its own vector stores', async () => {
    const database = open(':memory:');
    const index = sqliteVectors({ database });
    const [mine, other] = [makeStore(), makeStore()];
    await fillStore(index, mine, [makeFile(mine)]);
    const claim = await claimNext(index);
    for (let from = 0; from < FREQUENT; from += 5000) {
      const chunks = Array.from({ length: 5000 }, () => ({ text: 'often', embedding: vector(1) }));
      expect(await index.addChunks(claim, from, chunks)).toBe(true);
    }
    await index.addChunks(claim, FREQUENT, [{ text: 'often rare', embedding: vector(1) }]);
    await index.endClaim(claim, { status: 'completed' });
    await fillStore(index, other, [makeFile(other)]);
    await indexNext(index, { 'foreign often': vector(1) });
    expect(foundTexts(await index.matching(query([mine]), 'often rare'))).toEqual(['often rare']);
    expect(await index.matching(query([mine]), 'often foreign absent')).toHaveLength(10);
    expect(foundTexts(await index.matching(query([other]), 'often'))).toEqual(['foreign often']);
    database.close();
  });
});
