/** The statements on the tables of vector stores in PostgreSQL. */
import { MAX_BATCHES } from '../../ports/vectors/vector-index.ts';
import type { VectorTables } from './vector-schema.ts';

/** Their texts; the parameters are in the order in which each is used. */
export function vectorStatements(tables: VectorTables) {
  return { ...storeStatements(tables), ...fileStatements(tables), ...claimStatements(tables) };
}

/** One call removes so many chunks of an expired vector store, more than one write adds. */
const EXPIRED_CHUNKS = 2000;

function storeStatements({ stores, batches, files, chunks }: VectorTables) {
  const isLiving = (now: string) => `scope = $1 AND id = $2 AND ended = 0 AND coalesce(expires_at > ${now}, true)`;
  const hasChunks = `EXISTS (SELECT 1 FROM ${files} f WHERE f.store = s.number AND f.chunks > 0)`;
  const columns = `s.number, s.created_at, s.place, s.body, CASE WHEN ${hasChunks} THEN s.dimensions END AS dimensions`;
  return {
    create: `INSERT INTO ${stores} (scope, id, place, created_at, body) VALUES ($1, $2, $3, $4, $5) RETURNING number`,
    replace: `UPDATE ${stores} SET body = $3 WHERE ${isLiving('$4')} RETURNING number`,
    store: `SELECT ${columns} FROM ${stores} s WHERE scope = $1 AND id = $2`,
    lockStore: `SELECT ${columns} FROM ${stores} s WHERE scope = $1 AND id = $2 FOR UPDATE OF s`,
    lockLiving: `SELECT number FROM ${stores} WHERE ${isLiving('$3')} FOR UPDATE`,
    expired: `SELECT number FROM ${stores} WHERE ended < 2 AND expires_at <= $1 ORDER BY expires_at LIMIT 1`,
    endStore: `
      WITH ended AS (
        UPDATE ${files} SET chunks = 0, bytes = 0, status = CASE status WHEN 'in_progress' THEN 'cancelled' ELSE status END
        WHERE store = $1 AND (chunks > 0 OR status = 'in_progress')),
      removed AS (
        DELETE FROM ${chunks} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${chunks} WHERE store = $1 LIMIT ${EXPIRED_CHUNKS})) RETURNING 1)
      UPDATE ${stores} SET ended = CASE WHEN (SELECT count(*) FROM removed) < ${EXPIRED_CHUNKS} THEN 2 ELSE 1 END
      WHERE number = $1`,
    stores: `SELECT ${columns} FROM ${stores} s WHERE scope = $1 AND id = ANY ($2::bytea[])`,
    listStores: `SELECT body FROM ${stores} WHERE scope = $1`,
    countStores: `SELECT count(*) AS count FROM ${stores} WHERE scope = $1`,
    deleteStore: `DELETE FROM ${stores} WHERE scope = $1 AND id = $2 RETURNING number`,
    setDimensions: `UPDATE ${stores} SET dimensions = $2 WHERE number = $1`,
    addBatch: `
      INSERT INTO ${batches} (store, id, body) VALUES ($1, $2, $3) ON CONFLICT (store, id) DO UPDATE SET body = EXCLUDED.body`,
    // In the JSON, whose texts escape quotes, nothing else is written like this.
    trimBatches: `
      DELETE FROM ${batches} WHERE store = $1 AND id IN (
        SELECT id FROM ${batches} WHERE store = $1 AND id <> $2
        ORDER BY substring(body from '[^\\\\]"createdAt":(\\d+)')::bigint DESC OFFSET ${MAX_BATCHES - 1})`,
    deleteBatches: `DELETE FROM ${batches} WHERE store = $1`,
    batch: `SELECT b.body FROM ${batches} b JOIN ${stores} s ON s.number = b.store
      WHERE s.scope = $1 AND s.id = $2 AND b.id = $3`,
  };
}

function fileStatements({ stores, files, chunks }: VectorTables) {
  const ofStore = `store = (SELECT number FROM ${stores} WHERE scope = $1 AND id = $2)`;
  const isFile = `${ofStore} AND id = $3`;
  return {
    removeFiles: `DELETE FROM ${files} WHERE store = $1 AND id = ANY ($2::bytea[])`,
    addFile: `
      INSERT INTO ${files} (scope, store, id, place, batch, created_at, attributes, notes, body)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    file: `SELECT * FROM ${files} WHERE ${isFile}`,
    lockFile: `SELECT * FROM ${files} WHERE ${isFile} AND status = 'in_progress' AND epoch = $4 FOR UPDATE`,
    listFiles: `
      SELECT * FROM ${files} WHERE store = $1 AND ($2::text IS NULL OR status = $2) AND ($3::bytea IS NULL OR batch = $3)`,
    setAttributes: `UPDATE ${files} SET attributes = $4, notes = $5 WHERE ${isFile} RETURNING *`,
    deleteFile: `DELETE FROM ${files} WHERE ${isFile} RETURNING number`,
    cancelBatch: `
      UPDATE ${files} SET status = 'cancelled', chunks = 0, bytes = 0
      WHERE ${ofStore} AND batch = $3 AND status = 'in_progress'
      RETURNING number`,
    emptyFiles: `DELETE FROM ${chunks} WHERE file = ANY ($1::bigint[])`,
    countFiles: `
      SELECT status, count(*) AS files, sum(bytes) AS bytes FROM ${files}
      WHERE ${ofStore} AND ($3::bytea IS NULL OR batch = $3)
      GROUP BY status`,
    chunkTexts: `
      SELECT text FROM ${chunks} WHERE file = (SELECT number FROM ${files} WHERE ${isFile}) AND place >= $4
      ORDER BY place LIMIT $5`,
    addChunks: `
      INSERT INTO ${chunks} (file, store, place, text, embedding, words)
      SELECT $1, $2, $3::integer + at - 1, text, embedding::vector, to_tsvector($7::text::regconfig, left(words, 200000))
      FROM unnest($4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS added (text, embedding, words, at)`,
    removeChunks: `
      WITH removed AS (DELETE FROM ${chunks} WHERE file = $1 AND place >= $2 RETURNING text, embedding)
      SELECT coalesce(sum(octet_length(text) + 4 * vector_dims(embedding)), 0) AS bytes FROM removed`,
    addedChunks: `UPDATE ${files} SET chunks = $2, bytes = bytes + $3 WHERE number = $1`,
  };
}

function claimStatements({ stores, files, claims }: VectorTables) {
  const isClaimed = `number = (SELECT f.number FROM ${files} f JOIN ${stores} s ON s.number = f.store
    WHERE s.scope = $1 AND s.id = $2 AND f.id = $3) AND status = 'in_progress' AND epoch = $4`;
  return {
    // One step in an index for each tenant; the next is the tenant that was served longest ago.
    tenants: `
      WITH RECURSIVE tenants (scope) AS (
        (SELECT scope FROM ${files} WHERE status = 'in_progress' ORDER BY scope LIMIT 1)
        UNION ALL
        SELECT (SELECT f.scope FROM ${files} f WHERE f.status = 'in_progress' AND f.scope > tenants.scope
                ORDER BY f.scope LIMIT 1)
        FROM tenants WHERE scope IS NOT NULL)
      SELECT scope FROM tenants WHERE scope <> ALL ($2::bytea[]) AND EXISTS (
        SELECT 1 FROM ${files} f WHERE f.status = 'in_progress' AND f.scope = tenants.scope AND f.claimable_at <= $1)
      ORDER BY (SELECT max(epoch) FROM ${files} f WHERE f.scope = tenants.scope) LIMIT 64`,
    claim: `
      UPDATE ${files} SET epoch = nextval('${claims}'), attempts = attempts + 1, claimable_at = $3
      WHERE number = (
        SELECT number FROM ${files} WHERE status = 'in_progress' AND scope = $1 AND claimable_at <= $2
        ORDER BY created_at, place LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING *`,
    extend: `UPDATE ${files} SET claimable_at = $5 WHERE ${isClaimed} RETURNING number`,
    // A new epoch, which no claim has: the present claim is lost.
    retry: `UPDATE ${files} SET claimable_at = $5, epoch = nextval('${claims}') WHERE ${isClaimed} RETURNING number`,
    end: `UPDATE ${files} SET status = $5, error = $6 WHERE ${isClaimed} RETURNING number`,
  };
}
