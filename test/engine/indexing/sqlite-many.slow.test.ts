/** The index of vector stores in SQLite with more than is read at once. */
import { sqliteVectors } from '../../../src/stores/sqlite/sqlite-vectors.ts';
import {
  aFile,
  aStore,
  claimed,
  filled,
  indexed,
  query,
  textsOf,
  vector,
} from '../../../src/testing/vectors/vector-case.ts';
import { describeDrivers } from '../../stores/sqlite-drivers.ts';

const FILES = 1100;
const FREQUENT = 20_000;

describeDrivers((open) => {
  it('[X-14] finds files of every piece that a filter is read in, in each vector store', async () => {
    const database = open(':memory:');
    const index = sqliteVectors({ database });
    const stores = [aStore({ scope: 'a' }), aStore({ scope: 'a' })];
    const marked = new Set([0, 511, 512, 1023, 1024, FILES - 1]);
    for (const store of stores) {
      const id = (at: number) => `file-${String(at).padStart(4, '0')}`;
      const attributes = (at: number) => ({ marked: marked.has(at) });
      const files = Array.from({ length: FILES }, (_, at) => aFile(store, { id: id(at), attributes: attributes(at) }));
      await filled(index, store, files);
      for (const _ of files) await indexed(index, { word: vector(1, 0) });
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
    const [mine, other] = [aStore(), aStore()];
    await filled(index, mine, [aFile(mine)]);
    const claim = await claimed(index);
    for (let from = 0; from < FREQUENT; from += 5000) {
      const chunks = Array.from({ length: 5000 }, () => ({ text: 'often', embedding: vector(1) }));
      expect(await index.addChunks(claim, from, chunks)).toBe(true);
    }
    await index.addChunks(claim, FREQUENT, [{ text: 'often rare', embedding: vector(1) }]);
    await index.endClaim(claim, { status: 'completed' });
    await filled(index, other, [aFile(other)]);
    await indexed(index, { 'foreign often': vector(1) });
    expect(textsOf(await index.matching(query([mine]), 'often rare'))).toEqual(['often rare']);
    expect(await index.matching(query([mine]), 'often foreign absent')).toHaveLength(10);
    expect(textsOf(await index.matching(query([other]), 'often'))).toEqual(['foreign often']);
    database.close();
  });
});
