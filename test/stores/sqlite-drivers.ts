/** The SQLite drivers that the tests can open a database with, and where they do. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SqliteDatabase } from '../../src/stores/sqlite/sqlite-store.ts';

/** A connection that the test closes. */
export interface OpenDatabase extends SqliteDatabase {
  close(): void;
}

/** A driver, and how it opens the database in a file; undefined where this Node does not have it. */
export interface SqliteDriver {
  readonly name: string;
  readonly open: ((file: string) => OpenDatabase) | undefined;
}

type Database = new (file: string, options?: object) => OpenDatabase;

const require = createRequire(import.meta.url);
// The cast: what the package exports.
const Libsql = require('libsql') as Database;
const hasNodeSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined;

/** libsql, which runs everywhere, and node:sqlite, which Node 20 does not have. */
export const sqliteDrivers: readonly SqliteDriver[] = [
  { name: 'libsql', open: (file) => new Libsql(file) },
  { name: 'node:sqlite', open: hasNodeSqlite ? openWithNode : undefined },
];

function openWithNode(file: string): OpenDatabase {
  // The cast: what the module exports; the types of Node 20 do not know it.
  const { DatabaseSync } = require('node:sqlite') as { readonly DatabaseSync: Database };
  return new DatabaseSync(file, { allowExtension: true });
}

/** A suite for each driver; a skip whose name says why where it is absent. */
export function describeDrivers(body: (open: (file: string) => OpenDatabase, name: string) => void): void {
  for (const { name, open } of sqliteDrivers) {
    if (open) describe(`with ${name}`, () => body(open, name));
    else describe.skip(`with ${name} (skipped: Node ${process.versions.node} does not have it)`, () => it.todo(name));
  }
}

/** A folder of its own for a database, and its end. */
export function databaseFile(): { readonly file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-store-'));
  return { file: join(folder, 'responses.db'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
