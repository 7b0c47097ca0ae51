/** A process that puts responses into SQLite files and reports each when it was acknowledged; run by the tests. */
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { sqliteDrivers } from './sqlite-drivers.ts';
import { storedResponse } from './stored.ts';

const [name, prefix = '', count = '0', ...files] = process.argv.slice(2);
const open = sqliteDrivers.find((driver) => driver.name === name)?.open;
if (!open) throw new Error(`There is no driver ${name}.`);

process.once('message', () => {
  for (const file of files) write(sqliteStore({ database: open(file) }));
  process.disconnect();
});
process.send?.('ready');

function write(store: SqliteStore): void {
  store.setup();
  for (let index = 0; index < Number(count); index += 1) {
    store.put(storedResponse(`${prefix}${index}`));
    process.send?.(index);
  }
}
