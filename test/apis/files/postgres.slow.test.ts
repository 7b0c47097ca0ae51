/** Files in PostgreSQL: the contract, several processes' pools, what a crash leaves over, and refusals. */
import type { Pool } from 'pg';
import { type FileStore, postgresFiles } from '../../../src/files.ts';
import { assertBytes, bytes, makeUpload, putFile, readContent } from '../../../src/testing/files/file-case.ts';
import { fileStoreContract } from '../../../src/testing/index.ts';
import { freshScope } from '../../../src/testing/stores/store-case.ts';
import { describePostgres, poolOf, postgresPerSuite } from '../../support/postgres-server.ts';
import type { Service } from '../../support/services.ts';

const HOUR_MS = 60 * 60 * 1000;

describePostgres('postgresFiles', () => {
  let server: Service;
  let pool: Pool;
  let cases = 0;

  postgresPerSuite((started, connected) => {
    server = started;
    pool = connected;
  });

  function freshPrefix(): string {
    cases += 1;
    return `case${cases}_`;
  }

  async function numberIn(sql: string): Promise<number> {
    const { rows } = await pool.query(`SELECT (${sql})::int AS number`);
    return rows[0].number;
  }

  fileStoreContract({
    it,
    describe,
    async create({ clock }) {
      const tablePrefix = freshPrefix();
      const files = postgresFiles({ pool, tablePrefix, now: clock.now });
      await files.usage('any');
      const footprint = () => numberIn(`SELECT coalesce(sum(length(data)), 0) FROM ${tablePrefix}file_pieces`);
      return { files, footprint };
    },
  });

  it('[X-14] keeps to a quota over several processes', async () => {
    const tablePrefix = freshPrefix();
    const other = poolOf(server);
    const stores: readonly FileStore[] = [
      postgresFiles({ pool, tablePrefix }),
      postgresFiles({ pool: other, tablePrefix }),
    ];
    const scope = freshScope();
    const quota = { files: 100, bytes: 250 };
    const uploads = stores.flatMap((files) =>
      Array.from({ length: 8 }, () => putFile(files, bytes(100), { scope, quota })),
    );
    const results = await Promise.allSettled(uploads);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    await other.end();
  });

  it('[X-14] closes no connection for an upload that is refused', async () => {
    const own = poolOf(server, { max: 1 });
    let connections = 0;
    own.on('connect', () => {
      connections += 1;
    });
    const files = postgresFiles({ pool: own, tablePrefix: freshPrefix() });
    for (let upload = 0; upload < 5; upload += 1)
      await expect(putFile(files, bytes(10), { quota: { files: 1, bytes: 9 } })).rejects.toThrow('exceed');
    expect(connections).toBe(1);
    await own.end();
  });

  it('[X-14] removes some of many expired files with each upload, and fails none that it cannot remove', async () => {
    let added = 0;
    const tablePrefix = freshPrefix();
    const refused: string[] = [];
    const query: Pool['query'] = (async (text: string, values: unknown[]) => {
      if (!/^\s*DELETE/.test(text) || refused.length > 0) return pool.query(text, values);
      refused.push(text);
      throw new Error('canceling statement due to statement timeout');
    }) as never;
    const own = { query, connect: () => pool.connect() };
    const files = postgresFiles({ pool: own as never, tablePrefix, now: () => Date.now() + added });
    await putFile(files, bytes(10));
    for (let file = 0; file < 20; file += 1) await putFile(files, bytes(10), { expiresAt: Date.now() + 60_000 });
    added = HOUR_MS;
    const left: number[] = [];
    for (let file = 0; file < 6; file += 1) {
      await putFile(files, bytes(10));
      left.push(await numberIn(`SELECT count(*) FROM ${tablePrefix}files WHERE expires_at IS NOT NULL`));
    }
    expect([refused.length, left]).toEqual([1, [16, 12, 8, 4, 0, 0]]);
  });

  it('[X-14] removes what a crash has left over, and fails what goes on after all', async () => {
    let added = 0;
    const tablePrefix = freshPrefix();
    const files = postgresFiles({ pool, tablePrefix, now: () => Date.now() + added });
    async function* resting() {
      yield bytes(600_000);
      added = HOUR_MS + 1;
      await putFile(files, bytes(10));
      yield bytes(600_000);
    }
    await expect(files.put(makeUpload(resting()))).rejects.toThrow('no data for longer than staleMs');
    expect(await numberIn(`SELECT count(*) FROM ${tablePrefix}files`)).toBe(1);
  });

  it('[X-14] reports to a reader that the file was deleted', async () => {
    const files = postgresFiles({ pool, tablePrefix: freshPrefix() });
    const file = await putFile(files, bytes(600_000));
    const reading = await files.read(file);
    await files.delete(file);
    await expect(joinedOf(reading)).rejects.toThrow('deleted while it was read');
    assertBytes(await readContent(files, await putFile(files, bytes(5))), bytes(5));
  });
});

async function joinedOf(content: AsyncIterable<Uint8Array> | undefined): Promise<number> {
  let length = 0;
  for await (const piece of content ?? []) length += piece.byteLength;
  return length;
}
