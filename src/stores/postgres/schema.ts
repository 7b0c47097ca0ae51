/** The tables of the PostgreSQL store, and their migrations. */
import { hash } from 'node:crypto';
import type { OptionCheck } from '../../ports/host/options-check.ts';
import { isRecord } from '../../protocol/record.ts';

/** Runs a statement: a pool, or one of its clients. */
export interface PostgresQueries {
  /** Runs one statement with its parameters, and resolves with its rows. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The part of a pool of the package `pg` that the store uses. */
export interface PostgresPool extends PostgresQueries {
  /** `release(true)` closes the connection, and with it any open transaction. */
  connect(): Promise<PostgresClient>;
}

/** A client of such a pool. */
export interface PostgresClient extends PostgresQueries {
  /** Gives the client back to the pool; with `true` its connection is closed. */
  release(destroy?: boolean): void;
  /** Listens to the loss of the connection. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  /** Stops listening. */
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** What the option `pool` must be. */
export const POOL = 'a pool of the package pg';

/** Checks the option `pool`. */
export const isPool: OptionCheck = (value) => {
  // Object(): so that any value can be tested.
  const pool = Object(value);
  return (typeof pool.query === 'function' && typeof pool.connect === 'function') || POOL;
};

/** Checks the option `tablePrefix`: PostgreSQL cuts names at 63 characters, and lowercases unquoted capitals. */
export const isPrefix: OptionCheck = (value) =>
  (typeof value === 'string' && /^[a-z_][a-z0-9_]{0,31}$/.test(value)) ||
  'at most 32 small letters, digits and underscores, no digit first';

/** The names of the tables. */
export interface PostgresTables {
  readonly responses: string;
  readonly conversations: string;
  readonly items: string;
  readonly turns: string;
  readonly logs: string;
  readonly events: string;
  readonly files: string;
  readonly filePieces: string;
  readonly schema: string;
}

/** The names under one prefix. */
export function postgresTables(prefix: string): PostgresTables {
  return {
    responses: `${prefix}responses`,
    conversations: `${prefix}conversations`,
    items: `${prefix}conversation_items`,
    turns: `${prefix}conversation_turns`,
    logs: `${prefix}event_logs`,
    events: `${prefix}events`,
    files: `${prefix}files`,
    filePieces: `${prefix}file_pieces`,
    schema: `${prefix}schema`,
  };
}

/**
 * The migration of each version. Never edit a released one: add another. Keys are digests, because an index holds no
 * long text; JSON is text, because `jsonb` refuses NUL characters and lone surrogates, which JSON text escapes.
 */
const MIGRATIONS: readonly ((tables: PostgresTables) => string)[] = [
  ({ responses }) => `
    CREATE TABLE ${responses} (
      scope bytea NOT NULL,
      id bytea NOT NULL,
      previous_id bytea,
      expires_at bigint NOT NULL,
      response text NOT NULL,
      PRIMARY KEY (scope, id)
    );
    CREATE INDEX ${responses}_expiry ON ${responses} (expires_at)`,
  ({ conversations, items }) => `
    CREATE TABLE ${conversations} (
      scope bytea NOT NULL,
      id bytea NOT NULL,
      expires_at bigint NOT NULL,
      item_count bigint NOT NULL DEFAULT 0,
      conversation text NOT NULL,
      PRIMARY KEY (scope, id)
    );
    CREATE INDEX ${conversations}_expiry ON ${conversations} (expires_at);
    CREATE TABLE ${items} (
      scope bytea NOT NULL,
      id bytea NOT NULL,
      place bigint NOT NULL,
      item_id bytea,
      item text NOT NULL,
      PRIMARY KEY (scope, id, place),
      FOREIGN KEY (scope, id) REFERENCES ${conversations} ON DELETE CASCADE
    )`,
  ({ responses, conversations, items }) => `
    ALTER TABLE ${responses} ADD COLUMN version bigint NOT NULL DEFAULT 0;
    ALTER TABLE ${conversations} ADD COLUMN item_bytes bigint NOT NULL DEFAULT 0;
    UPDATE ${conversations} AS owner SET item_bytes = (
      SELECT coalesce(sum(octet_length(item)), 0) FROM ${items} AS own
      WHERE own.scope = owner.scope AND own.id = owner.id
    );
    CREATE INDEX ${items}_by_id ON ${items} (scope, id, item_id, place)`,
  // Each append updates the row of its log: room in its page spares the indexes.
  ({ logs, events }) => `
    CREATE TABLE ${logs} (
      scope bytea NOT NULL,
      id bytea NOT NULL,
      expires_at bigint NOT NULL,
      epoch bigint NOT NULL,
      generation bigint NOT NULL DEFAULT 0,
      next bigint NOT NULL DEFAULT 0,
      ended boolean NOT NULL DEFAULT false,
      request text NOT NULL,
      state text NOT NULL DEFAULT '',
      PRIMARY KEY (scope, id)
    ) WITH (fillfactor = 50);
    CREATE INDEX ${logs}_expiry ON ${logs} (expires_at);
    CREATE TABLE ${events} (
      scope bytea NOT NULL,
      id bytea NOT NULL,
      generation bigint NOT NULL,
      from_sequence bigint NOT NULL,
      next_sequence bigint NOT NULL,
      events text NOT NULL,
      PRIMARY KEY (scope, id, generation, from_sequence),
      FOREIGN KEY (scope, id) REFERENCES ${logs} ON DELETE CASCADE
    )`,
  ({ files, filePieces }) => `
    CREATE TABLE ${files} (
      number bigserial PRIMARY KEY,
      scope bytea NOT NULL,
      id bytea NOT NULL,
      place bytea NOT NULL,
      state text NOT NULL,
      touched_at bigint NOT NULL,
      created_at bigint,
      expires_at bigint,
      purpose text,
      bytes bigint NOT NULL DEFAULT 0,
      file text
    );
    CREATE UNIQUE INDEX ${files}_by_id ON ${files} (scope, id) WHERE state = 'whole';
    CREATE INDEX ${files}_order ON ${files} (scope, created_at, place) WHERE state = 'whole';
    CREATE INDEX ${files}_expiry ON ${files} (expires_at) WHERE expires_at IS NOT NULL;
    CREATE INDEX ${files}_open ON ${files} (touched_at) WHERE state = 'open';
    CREATE TABLE ${filePieces} (
      file bigint NOT NULL REFERENCES ${files} ON DELETE CASCADE,
      place bigint NOT NULL,
      data bytea NOT NULL,
      PRIMARY KEY (file, place)
    )`,
  ({ conversations, turns }) => `
    ALTER TABLE ${conversations} ADD COLUMN changes bigint NOT NULL DEFAULT 0;
    CREATE TABLE ${turns} (
      scope bytea NOT NULL,
      id bytea NOT NULL,
      turn bytea NOT NULL,
      epoch bigint NOT NULL,
      item_ids bytea[] NOT NULL,
      PRIMARY KEY (scope, id, turn),
      FOREIGN KEY (scope, id) REFERENCES ${conversations} ON DELETE CASCADE
    )`,
  // Over one expression, so that no other index will do: a planner that takes a conversation for short reads all its items by the primary key.
  ({ items }) => `
    CREATE INDEX ${items}_by_key ON ${items} USING hash ((scope || id || item_id));
    DROP INDEX IF EXISTS ${items}_by_id`,
];

/**
 * The oldest version of the tables whose packages may use those of the newest, too: they find all that they read, and what
 * they write does no harm. Raise it with a migration that old processes must not meet.
 */
const COMPATIBLE_SINCE = 5;

/**
 * Migrates the tables to the version, the newest by default, completely or not at all; concurrent processes wait
 * for each other.
 */
export async function migratePostgres(
  pool: PostgresPool,
  tables: PostgresTables,
  target = MIGRATIONS.length,
): Promise<void> {
  const migrations = MIGRATIONS.map((migration) => migration(tables));
  await migrateTables(pool, { schema: tables.schema, migrations, compatibleSince: COMPATIBLE_SINCE }, target);
}

/** Tables that are migrated together, and the table that holds their version. */
interface TableGroup {
  readonly schema: string;
  /** The migration of each version; never edit a released one. */
  readonly migrations: readonly string[];
  /** The oldest version whose packages may use the tables of the newest one. */
  readonly compatibleSince: number;
}

/** The same as `migratePostgres`, for any tables. */
export async function migrateTables(pool: PostgresPool, group: TableGroup, target = group.migrations.length) {
  try {
    // Tries first without a change, so that a role that may only read and write rows can use existing tables.
    if ((await tablesVersion(pool, group)) >= target) return;
    await inTransaction(pool, async (client) => {
      // 31 bits of the name's digest: a lock of one set of tables, which other programs are unlikely to use.
      const lock = Number.parseInt(hash('sha256', `express-open-responses:${group.schema}`).slice(0, 8), 16) >>> 1;
      await client.query('SELECT pg_advisory_xact_lock($1)', [lock]);
      await upgradeTables(client, group, target);
    });
  } catch (error) {
    const isDenied = isRecord(error) && error.code === INSUFFICIENT_PRIVILEGE;
    throw isDenied ? await permissionError(pool, error) : error;
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Says which rights are missing, since PostgreSQL 15 gives users none in the schema `public`. */
async function permissionError(pool: PostgresPool, cause: unknown): Promise<Error> {
  const { rows } = await pool.query(
    "SELECT quote_ident(current_user) AS user, quote_ident(coalesce(current_schema(), 'public')) AS schema",
  );
  const [user, schema] = [firstField(rows, 'user'), firstField(rows, 'schema')];
  const uses = `GRANT USAGE ON SCHEMA ${schema} TO ${user}`;
  const message =
    `postgresStore: the user ${user} may not create or use the tables of the store in PostgreSQL. Either run GRANT USAGE, CREATE ON ` +
    `SCHEMA ${schema} TO ${user}, or call setup() once with a pool of a user that may, and then, as that user, run ${uses}; GRANT ` +
    `SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${user}; GRANT USAGE ON ALL SEQUENCES IN SCHEMA ` +
    `${schema} TO ${user}`;
  return new Error(message, { cause });
}

/** Runs the work as one transaction; if it fails, nothing of it stays. */
export async function inTransaction<Result>(
  pool: PostgresPool,
  work: (client: PostgresQueries) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // A connection in use reports its end to nobody else, and a report without a listener ends the process.
  client.on?.('error', ignoreLostConnection);
  try {
    // Read committed, so that after the wait for a lock the other process's changes are visible.
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    const result = await work(client);
    await client.query('COMMIT');
    client.off?.('error', ignoreLostConnection);
    client.release();
    return result;
  } catch (error) {
    // Closing the connection rolls back, even if it no longer responds.
    client.release(true);
    throw error;
  }
}

/** The query in progress rejects with the same error. */
function ignoreLostConnection(): void {}

async function upgradeTables(client: PostgresQueries, tables: TableGroup, target: number): Promise<void> {
  // Not to_regclass again: in a transaction that waited for a lock it still returns the state before the wait.
  await client.query(`CREATE TABLE IF NOT EXISTS ${tables.schema} (version integer NOT NULL)`);
  await client.query(`ALTER TABLE ${tables.schema} ADD COLUMN IF NOT EXISTS compatible_since integer`);
  const version = await readVersion(client, tables);
  if (version >= target) return;
  for (const migration of tables.migrations.slice(version, target)) await client.query(migration);
  await client.query(`DELETE FROM ${tables.schema}`);
  const since = Math.min(target, tables.compatibleSince);
  await client.query(`INSERT INTO ${tables.schema} (version, compatible_since) VALUES ($1, $2)`, [target, since]);
}

/** The version of the tables; 0 if there are none. */
async function tablesVersion(queries: PostgresQueries, tables: TableGroup): Promise<number> {
  const { rows } = await queries.query('SELECT to_regclass($1) IS NOT NULL AS here', [tables.schema]);
  return firstField(rows, 'here') ? readVersion(queries, tables) : 0;
}

/** The version in its table; throws if it is newer than this package may use. */
async function readVersion(queries: PostgresQueries, { schema, migrations }: TableGroup): Promise<number> {
  // Not by name: tables of earlier releases do not have the second column.
  const { rows } = await queries.query(`SELECT * FROM ${schema} ORDER BY version DESC LIMIT 1`);
  const version = Number(firstField(rows, 'version') ?? 0);
  const since = Number(firstField(rows, 'compatible_since') ?? version);
  const known = migrations.length;
  if (version <= known || since <= known) return version;
  throw new Error(
    `postgresStore: ${schema} is at version ${version}, which packages that know version ${since} can use; this package knows ` +
      `${known}; update the package`,
  );
}

/** A field of the first row. */
export function firstField(rows: readonly unknown[], name: string): unknown {
  // The cast: a row is an object with a field for each column.
  return (rows[0] as Readonly<Record<string, unknown>> | undefined)?.[name];
}

/** Sorts as the id does, and can hold any text. */
export function idSortKey(id: string): Buffer {
  return Buffer.from(JSON.stringify(id).slice(1, -1));
}
