/** Every store of files keeps the contract, and a store with any one of these flaws does not. */
import { diskFiles } from '../../../src/stores/disk/disk-files.ts';
import { memoryFiles } from '../../../src/stores/memory/memory-files.ts';
import { sqliteFiles } from '../../../src/stores/sqlite/sqlite-files.ts';
import { fileStoreContract } from '../../../src/testing/index.ts';
import { databaseFile, describeDrivers, type OpenDatabase } from '../../stores/sqlite-drivers.ts';
import { bytesBelow, diskFolder } from './disk-folder.ts';

describe('memoryFiles', () => {
  fileStoreContract({ it, describe, create: ({ clock }) => ({ files: memoryFiles({ now: clock.now }) }) });
});

describe('diskFiles', () => {
  fileStoreContract({
    it,
    describe,
    create({ clock }) {
      const { folder, remove } = diskFolder();
      return { files: diskFiles({ folder, now: clock.now }), footprint: () => bytesBelow(folder), close: remove };
    },
  });
});

/** What the rows of files hold. */
function bytesIn(database: OpenDatabase): number {
  const [row] = database
    .prepare('SELECT coalesce(sum(length(data)), 0) AS bytes FROM open_responses_file_pieces')
    .all() as [{ readonly bytes: number }];
  return Number(row.bytes);
}

describeDrivers((open) => {
  describe('sqliteFiles', () => {
    fileStoreContract({
      it,
      describe,
      create({ clock }) {
        const { file, remove } = databaseFile();
        const database = open(file);
        const files = sqliteFiles({ database, now: clock.now });
        files.usage('any');
        const close = () => {
          database.close();
          remove();
        };
        return { files, footprint: () => bytesIn(database), close };
      },
    });
  });
});
