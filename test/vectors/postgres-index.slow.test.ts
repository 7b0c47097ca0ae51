/** The index of vector stores in PostgreSQL keeps the contract where the server has pgvector. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { pgVectors } from '../../src/stores/postgres/pg-vectors.ts';
import { vectorIndexContract } from '../../src/testing/index.ts';
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
