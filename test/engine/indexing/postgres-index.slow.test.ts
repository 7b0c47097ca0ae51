/** The index of vector stores in PostgreSQL keeps the contract where the server has pgvector. */
import type { Pool } from 'pg';
import type { VectorIndex } from '../../../src/ports/vectors/vector-index.ts';
import { postgresVectors } from '../../../src/stores/postgres/postgres-vectors.ts';
import { vectorIndexContract } from '../../../src/testing/index.ts';
import {
  claimNext,
  createSearchable,
  fillStore,
  foundTexts,
  makeFile,
  makeStore,
  query,
  vector,
} from '../../../src/testing/vectors/vector-case.ts';
import { describePostgres, postgresPerSuite, postgresWithVectors } from '../../support/postgres-server.ts';

const vectors = await postgresWithVectors();

describePostgres('postgresVectors', () => {
  let pool: Pool;

  postgresPerSuite((_, connected) => {
    pool = connected;
  });

  it('[X-14] reports what to run in a database without the extension', async () => {
    await expect(postgresVectors({ pool }).getStore({ scope: 's', id: 'i' })).rejects.toThrow(
      'CREATE EXTENSION vector',
    );
  });
});

vectors.describe('postgresVectors with pgvector', () => {
  let pool: Pool;
  let cases = 0;

  postgresPerSuite((_, connected) => {
    pool = connected;
  }, vectors);
  beforeAll(() => pool.query('CREATE EXTENSION vector'));

  it('[X-14] weighs a rare word more than one that most chunks have', async () => {
    const index = postgresVectors({ pool, tablePrefix: 'ranks_', language: 'english' });
    const frequent = Array.from({ length: 20 }, (_, at) => `apples number ${at}`);
    const texts = [...frequent, 'apples apples apples', 'one quince'];
    const { store } = await createSearchable(index, Object.fromEntries(texts.map((text) => [text, vector(1, 0)])));
    // The language leaves 'the' out.
    const found = await index.matching(query([store], undefined, 3), 'the apples or apple, quince');
    expect(foundTexts(found).slice(0, 2)).toEqual(['one quince', 'apples apples apples']);
    expect([...(await index.matching(query([store]), 'the'))]).toEqual([]);
  });

  const MINUTE = 60_000;
  const expiring = { lastActiveAt: 1000, expiresAfterMs: MINUTE };
  const chunksIn = async (prefix: string) =>
    Number((await pool.query(`SELECT count(*) AS count FROM ${prefix}vector_chunks`)).rows[0].count);
  const chunksOf = (length: number) => Array.from({ length }, (_, at) => ({ text: `${at}`, embedding: vector(1) }));

  it('[X-14] removes some chunks of expired vector stores with each write, while another process still adds to one', async () => {
    let time = 2000;
    const [one, two] = [0, 1].map(() => postgresVectors({ pool, tablePrefix: 'expiry_', now: () => time })) as [
      VectorIndex,
      VectorIndex,
    ];
    for (const store of [makeStore(expiring), makeStore()]) {
      await fillStore(one, store, [makeFile(store)]);
      const claim = await claimNext(one);
      await one.addChunks(claim, 0, chunksOf(2500));
      await one.endClaim(claim, { status: 'completed' });
    }
    time += MINUTE;
    await two.putStore(makeStore(), 'create');
    expect(await chunksIn('expiry_')).toBe(3000);
    await one.putStore(makeStore(), 'create');
    expect(await chunksIn('expiry_')).toBe(2500);
    const growing = makeStore({ lastActiveAt: time, expiresAfterMs: MINUTE });
    await fillStore(one, growing, [makeFile(growing)]);
    const claim = await claimNext(one);
    time += MINUTE;
    const adding = async () => {
      for (let from = 0; await one.addChunks(claim, from, chunksOf(10)); ) from += 10;
    };
    await Promise.all([adding(), ...Array.from({ length: 8 }, async () => two.putStore(makeStore(), 'create'))]);
    expect(await chunksIn('expiry_')).toBe(2500);
  });

  it('[X-14] removes the chunks of vector stores that an older release has stored', async () => {
    let time = 2000;
    const names = { name: '"expiresAfterMs":1 \u0000 \ud800', metadata: { expiresAfterMs: '1' } };
    const older = postgresVectors({ pool, tablePrefix: 'older_', now: () => time });
    await createSearchable(older, { old: vector(1) }, { ...names, ...expiring });
    await createSearchable(older, { kept: vector(1) }, names);
    await pool.query(`ALTER TABLE older_vector_stores DROP COLUMN ended, DROP COLUMN expires_at;
      UPDATE older_vector_schema SET version = 1`);
    const index = postgresVectors({ pool, tablePrefix: 'older_', now: () => time });
    await index.putStore(makeStore(), 'create');
    expect(await chunksIn('older_')).toBe(2);
    time += MINUTE;
    await index.putStore(makeStore(), 'create');
    expect(await chunksIn('older_')).toBe(1);
  });

  vectorIndexContract({
    it,
    create({ clock }) {
      cases += 1;
      return { index: postgresVectors({ pool, tablePrefix: `case${cases}_`, now: clock.now }) };
    },
  });
});
