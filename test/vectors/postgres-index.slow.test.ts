/** The index of vector stores in PostgreSQL keeps the contract where the server has pgvector. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { pgVectors } from '../../src/stores/postgres/pg-vectors.ts';
import { vectorIndexContract } from '../../src/testing/index.ts';
import { query, searchable, textsOf, vector } from '../../src/testing/vectors/vector-case.ts';
import { describePostgres, postgresPerSuite } from '../support/postgres-server.ts';
import { describeWhere } from '../support/skipping.ts';

describePostgres('pgVectors', () => {
  let pool: Pool;
  let cases = 0;

  postgresPerSuite((_, connected) => {
    pool = connected;
  });

  it('[X-14] reports what to run in a database without the extension', async () => {
    await expect(pgVectors({ pool }).getStore({ scope: 's', id: 'i' })).rejects.toThrow('CREATE EXTENSION vector');
  });

  describeWhere(hasPgvector(), 'no pgvector found')('with pgvector', () => {
    beforeAll(() => pool.query('CREATE EXTENSION vector'));

    it('[X-14] weighs a rare word more than one that most chunks have', async () => {
      const index = pgVectors({ pool, tablePrefix: 'ranks_', language: 'english' });
      const frequent = Array.from({ length: 20 }, (_, at) => `apples number ${at}`);
      const texts = [...frequent, 'apples apples apples', 'one quince'];
      const { store } = await searchable(index, Object.fromEntries(texts.map((text) => [text, vector(1, 0)])));
      // The language leaves 'the' out.
      const found = await index.matching(query([store], undefined, 3), 'the apples or apple, quince');
      expect(textsOf(found).slice(0, 2)).toEqual(['one quince', 'apples apples apples']);
      expect([...(await index.matching(query([store]), 'the'))]).toEqual([]);
    });

    vectorIndexContract({
      it,
      create({ clock }) {
        cases += 1;
        return { index: pgVectors({ pool, tablePrefix: `case${cases}_`, now: clock.now }) };
      },
    });
  });
});

/** Debian keeps the extensions of its newest server there. */
function hasPgvector(): boolean {
  const root = '/usr/share/postgresql';
  const [newest = ''] = existsSync(root) ? readdirSync(root).toSorted((one, other) => Number(other) - Number(one)) : [];
  return existsSync(join(root, newest, 'extension/vector.control'));
}
