/** Concurrent requests of two clients on two nodes over one SQLite file. */
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { databaseFile, sqliteDrivers } from '../stores/sqlite-drivers.ts';
import { raceSuite } from './races.ts';

describe('two nodes on one SQLite file', () => {
  raceSuite('SQLite', async () => {
    const { file, remove } = databaseFile();
    const open = sqliteDrivers.find((driver) => driver.open)?.open;
    if (!open) throw new Error('There is no driver.');
    const databases = [open(file), open(file)] as const;
    for (const database of databases) {
      sqliteStore({ database }).setup();
      // Faster: the disk is not under test.
      database.exec('PRAGMA synchronous = OFF');
    }
    const [one, other] = databases;
    return {
      stores: [sqliteStore({ database: one }), sqliteStore({ database: other })],
      async close() {
        for (const database of databases) database.close();
        remove();
      },
    };
  });
});
