/** Files in SQLite: full disks, what a crash leaves over, several connections, and the store of responses beside them. */
import { sqliteFiles } from '../../../src/files.ts';
import type { SqliteDatabase } from '../../../src/stores/sqlite/sqlite-store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { assertBytes, bytes, makeUpload, putFile, readContent } from '../../../src/testing/files/file-case.ts';
import { freshScope, turn as turnOf } from '../../../src/testing/stores/store-case.ts';
import { databaseFile, describeDrivers, type OpenDatabase } from '../../stores/sqlite-drivers.ts';

const HOUR_MS = 60 * 60 * 1000;

function rowsIn(database: SqliteDatabase): readonly unknown[] {
  const counts = ['open_responses_files', 'open_responses_file_pieces'].map((table) =>
    database.prepare(`SELECT count(*) AS n FROM ${table}`).all(),
  );
  return counts.map(([row]) => Number((row as { readonly n: number }).n));
}

describeDrivers((open) => {
  let database: OpenDatabase;
  let file: string;
  let remove: () => void;

  beforeEach(() => {
    ({ file, remove } = databaseFile());
    database = open(file);
  });

  afterEach(() => {
    database.close();
    remove();
  });

  it('[X-14] gives back what an upload wrote until the disk was full', async () => {
    const files = sqliteFiles({ database });
    await putFile(files, bytes(10));
    const [pages] = database.prepare('PRAGMA page_count').all() as [{ readonly page_count: number }];
    database.exec(`PRAGMA max_page_count = ${Number(pages.page_count) + 200}`);
    await expect(putFile(files, bytes(2_000_000))).rejects.toThrow(/full/i);
    expect(rowsIn(database)).toEqual([1, 1]);
    const content = bytes(500_000);
    assertBytes(await readContent(files, await putFile(files, content)), content);
  });

  it('[X-14] removes the drafts of a crash after staleMs without a change', async () => {
    let added = 0;
    const files = sqliteFiles({ database, now: () => Date.now() + added });
    async function* stuck() {
      yield bytes(600_000);
      await new Promise(() => {});
    }
    void files.put(makeUpload(stuck()));
    while (rowsIn(database)[1] !== 2) await new Promise((resolve) => setImmediate(resolve));
    await putFile(files, bytes(10));
    expect(rowsIn(database)).toEqual([2, 3]);
    added = HOUR_MS + 1;
    await putFile(files, bytes(10));
    expect(rowsIn(database)).toEqual([2, 2]);
  });

  it('[X-14] fails an upload that goes on after it was taken for left over', async () => {
    let added = 0;
    const files = sqliteFiles({ database, now: () => Date.now() + added });
    let next: Promise<unknown> | undefined;
    async function* resting() {
      yield bytes(600_000);
      added = HOUR_MS + 1;
      // Not awaited: it is still removing the pieces when the upload goes on.
      next = putFile(files, bytes(10));
      yield bytes(600_000);
    }
    await expect(files.put(makeUpload(resting()))).rejects.toThrow('no data for longer than staleMs');
    await next;
    expect(rowsIn(database)).toEqual([1, 1]);
  });

  it('[X-14] keeps to a quota over several connections', async () => {
    const other = open(file);
    const [one, two] = [sqliteFiles({ database }), sqliteFiles({ database: other })];
    const scope = freshScope();
    const quota = { files: 100, bytes: 250 };
    const uploads = Array.from({ length: 10 }, (_, at) => putFile(at % 2 ? one : two, bytes(100), { scope, quota }));
    const results = await Promise.allSettled(uploads);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await two.usage(scope)).toEqual({ files: 2, bytes: 200 });
    other.close();
  });

  it('[X-14] shares a connection with the store of responses', async () => {
    const store = sqliteStore({ database });
    const files = sqliteFiles({ database });
    async function* storing() {
      yield bytes(300_000);
      store.put(turnOf('s', 'resp_1'));
      yield bytes(300_000);
    }
    const kept = await files.put(makeUpload(storing()));
    expect([kept.bytes, (await store.get({ scope: 's', id: 'resp_1' }))?.id]).toEqual([600_000, 'resp_1']);
  });

  it('[X-14] lets other work run while a large file is deleted', async () => {
    const files = sqliteFiles({ database });
    const kept = await putFile(files, bytes(6_000_000));
    let turns = 0;
    const counting = new AbortController();
    const count = () => {
      turns += 1;
      if (!counting.signal.aborted) setImmediate(count);
    };
    setImmediate(count);
    await files.delete(kept);
    counting.abort();
    expect(turns).toBeGreaterThan(1);
  });
});
