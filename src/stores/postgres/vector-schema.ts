/** The tables of vector stores in PostgreSQL, apart from the others since they need the extension `vector`. */
import { firstField, migrateTables, type PostgresPool } from './schema.ts';

/** The names of the tables. */
export type VectorTables = ReturnType<typeof vectorTables>;

/** The names under one prefix. */
export function vectorTables(prefix: string) {
  return {
    stores: `${prefix}vector_stores`,
    batches: `${prefix}vector_batches`,
    files: `${prefix}vector_files`,
    chunks: `${prefix}vector_chunks`,
    claims: `${prefix}vector_claims`,
    schema: `${prefix}vector_schema`,
  };
}

/** The migration of each version. Never edit a released one: add another. */
const MIGRATIONS: readonly ((tables: VectorTables) => string)[] = [
  ({ stores, batches, files, chunks, claims }) => `
    CREATE SEQUENCE ${claims};
    CREATE TABLE ${stores} (
      number bigserial PRIMARY KEY,
      scope bytea NOT NULL,
      id bytea NOT NULL,
      place bytea NOT NULL,
      created_at bigint NOT NULL,
      dimensions integer,
      body text NOT NULL,
      UNIQUE (scope, id)
    );
    CREATE INDEX ${stores}_order ON ${stores} (scope, created_at, place);
    CREATE TABLE ${batches} (
      store bigint NOT NULL REFERENCES ${stores} ON DELETE CASCADE,
      id bytea NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (store, id)
    );
    CREATE TABLE ${files} (
      number bigserial PRIMARY KEY,
      scope bytea NOT NULL,
      store bigint NOT NULL REFERENCES ${stores} ON DELETE CASCADE,
      id bytea NOT NULL,
      place bytea NOT NULL,
      batch bytea,
      created_at bigint NOT NULL,
      status text NOT NULL DEFAULT 'in_progress',
      bytes bigint NOT NULL DEFAULT 0,
      chunks integer NOT NULL DEFAULT 0,
      epoch bigint NOT NULL DEFAULT 0,
      attempts integer NOT NULL DEFAULT 0,
      claimable_at bigint NOT NULL DEFAULT 0,
      attributes jsonb NOT NULL,
      notes text NOT NULL,
      error text,
      body text NOT NULL,
      UNIQUE (store, id)
    );
    CREATE INDEX ${files}_order ON ${files} (store, created_at, place);
    CREATE INDEX ${files}_waiting ON ${files} (scope, created_at, place) WHERE status = 'in_progress';
    CREATE INDEX ${files}_turns ON ${files} (scope, epoch);
    CREATE TABLE ${chunks} (
      file bigint NOT NULL REFERENCES ${files} ON DELETE CASCADE,
      place integer NOT NULL,
      store bigint NOT NULL,
      text text NOT NULL,
      embedding vector NOT NULL,
      words tsvector NOT NULL,
      PRIMARY KEY (file, place)
    );
    CREATE INDEX ${chunks}_of_store ON ${chunks} (store);
    CREATE INDEX ${chunks}_words ON ${chunks} USING gin (words)`,
  // `ended` is 1 while the chunks of an expired vector store are removed, and then 2. The JSON is not parsed, since PostgreSQL refuses
  // NULs in it; in a text quotes are escaped, and the keys of `metadata` have texts as values.
  ({ stores }) => `
    ALTER TABLE ${stores} ADD COLUMN ended smallint NOT NULL DEFAULT 0, ADD COLUMN expires_at bigint GENERATED ALWAYS AS (
      substring(body from '"lastActiveAt":([0-9]+)')::bigint + substring(body from '"expiresAfterMs":([0-9]+)')::bigint) STORED;
    CREATE INDEX ${stores}_expiry ON ${stores} (expires_at) WHERE ended < 2`,
];

/** Creates or upgrades the tables; throws if the database has no extension `vector`. */
export async function migrateVectors(pool: PostgresPool, tables: VectorTables): Promise<void> {
  const { rows } = await pool.query("SELECT 1 AS here FROM pg_extension WHERE extname = 'vector'");
  if (firstField(rows, 'here') === undefined)
    throw new Error(
      'postgresVectors: the database has no pgvector; install it on the server and run, once, as its owner: CREATE EXTENSION vector',
    );
  await migrateTables(pool, {
    schema: tables.schema,
    migrations: MIGRATIONS.map((migration) => migration(tables)),
    compatibleSince: MIGRATIONS.length,
  });
}
