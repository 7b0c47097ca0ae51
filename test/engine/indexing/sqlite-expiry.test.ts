/** How the index in SQLite removes the chunks of expired vector stores: some with each write, whatever process writes. */
import { sqliteVectors } from '../../../src/stores/sqlite/sqlite-vectors.ts';
import {
  claimNext,
  fillStore,
  foundTexts,
  makeFile,
  makeStore,
  query,
  vector,
} from '../../../src/testing/vectors/vector-case.ts';
import { databaseFile, describeDrivers, type OpenDatabase } from '../../stores/sqlite-drivers.ts';

const MINUTE = 60_000;

function countIn(database: OpenDatabase, table: string): number {
  // The cast: the statement names the column.
  const [row] = database.prepare(`SELECT count(*) AS count FROM open_responses_vector_${table}`).all() as {
    count: number;
  }[];
  return Number(row?.count);
}

describeDrivers((open) => {
  it('[X-14] removes some with each write of any process, and then what is left of them', async () => {
    const { file, remove } = databaseFile();
    const connections = [open(file), open(file)] as const;
    let time = 2000;
    const now = () => time;
    const one = sqliteVectors({ database: connections[0], now });
    const two = sqliteVectors({ database: connections[1], now });
    const expiring = { lastActiveAt: 1000, expiresAfterMs: MINUTE };
    const [old, kept] = [makeStore(expiring), makeStore()];
    for (const store of [old, makeStore(expiring), kept]) {
      await fillStore(one, store, [makeFile(store)]);
      const claim = await claimNext(one);
      const texts = Array.from({ length: 1500 }, (_, at) => ({ text: `word ${at}`, embedding: vector(1) }));
      await one.addChunks(claim, 0, texts);
      await one.endClaim(claim, { status: 'completed' });
    }
    time += MINUTE;
    const left: number[] = [];
    const late = sqliteVectors({ database: connections[1], now: () => 2000 });
    for (const index of [one, two, one, two]) {
      await index.putStore(makeStore(), 'create');
      left.push(countIn(connections[0], 'chunks'));
      // It has lost chunks, also for a process whose clock is late.
      expect(await late.putStore({ ...old, lastActiveAt: 2000 }, 'replace')).toBe(false);
      expect(await late.addFiles(old, [makeFile(old)])).toBe(false);
    }
    // At most 16 × 64 with each write.
    expect(left).toEqual([3476, 2488, 1500, 1500]);
    expect([countIn(connections[0], 'embeddings'), countIn(connections[0], 'words')]).toEqual([1500, 1500]);
    expect(foundTexts(await two.matching(query([kept], undefined, 1), '7'))).toEqual(['word 7']);
    for (const database of connections) database.close();
    remove();
  });

  it('[X-14] removes those of vector stores that an older release has stored', async () => {
    const database = open(':memory:');
    let time = 2000;
    const index = sqliteVectors({ database, now: () => time });
    const names = { name: '"expiresAfterMs":1 \u0000', metadata: { expiresAfterMs: '1' } };
    const stores = [makeStore({ ...names, expiresAfterMs: MINUTE }), makeStore(names)];
    for (const store of stores) {
      await fillStore(index, store, [makeFile(store)]);
      await index.addChunks(await claimNext(index), 0, [{ text: 'old', embedding: vector(1) }]);
    }
    database.exec(`DROP INDEX open_responses_vector_stores_expiry;
      ALTER TABLE open_responses_vector_stores DROP COLUMN expires_at;
      ALTER TABLE open_responses_vector_stores DROP COLUMN ended;
      DROP TABLE open_responses_turn_parts;
      UPDATE open_responses_schema SET version = 6`);
    const next = sqliteVectors({ database, now: () => time });
    await next.putStore(makeStore(), 'create');
    expect(countIn(database, 'chunks')).toBe(2);
    time += MINUTE;
    await next.putStore(makeStore(), 'create');
    expect(countIn(database, 'chunks')).toBe(1);
    database.close();
  });
});
