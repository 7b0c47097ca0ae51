/** The index of vector stores in SQLite keeps the contract with every driver. */
import { sqliteVectors } from '../../../src/stores/sqlite/sqlite-vectors.ts';
import { vectorIndexContract } from '../../../src/testing/index.ts';
import { databaseFile, describeDrivers } from '../../stores/sqlite-drivers.ts';

describeDrivers((open) => {
  vectorIndexContract({
    it,
    describe,
    create({ clock }) {
      const { file, remove } = databaseFile();
      const database = open(file);
      const close = () => {
        database.close();
        remove();
      };
      return { index: sqliteVectors({ database, now: clock.now }), close };
    },
  });
});
