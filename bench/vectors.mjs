/**
 * Indexes documents and searches them in every index of vector stores, over the build: chunks per second, times of searches with and
 * without a filter, the longest pause of the event loop, memory and size on disk. PostgreSQL is measured if DATABASE_URL names a
 * database with pgvector. Texts are made of random words, and embeddings are random too: neither changes the work of a search.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import Database from 'libsql';
import { Pool } from 'pg';
import { memoryVectors, postgresVectors, sqliteVectors } from '../dist/esm/vector-stores.js';

const { values } = parseArgs({
  options: {
    documents: { type: 'string', default: '10000' },
    chunks: { type: 'string', default: '5' },
    dimensions: { type: 'string', default: '384' },
    searches: { type: 'string', default: '50' },
    only: { type: 'string', default: 'memory,sqlite,postgres' },
  },
});
const [documents, chunks, dimensions, searches] = ['documents', 'chunks', 'dimensions', 'searches'].map((name) =>
  Number(values[name]),
);
const STORE = { scope: 'bench', id: 'vs_bench' };
const WORDS = Array.from({ length: 20_000 }, (_, at) => `word${at.toString(36)}`);
const random = seeded(1);

/** Random numbers, the same in every run. */
function seeded(state) {
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Few words are frequent, as in languages. */
function someWords(count) {
  return Array.from({ length: count }, () => WORDS[Math.floor(WORDS.length * random() ** 4)]).join(' ');
}

function someVector() {
  return Float32Array.from({ length: dimensions }, () => random() - 0.5);
}

async function fill(index) {
  await index.putStore({ ...STORE, name: '', metadata: {}, createdAt: 0, lastActiveAt: 0 }, 'create');
  const files = Array.from({ length: documents }, (_, at) => ({
    ...{ scope: STORE.scope, store: STORE.id, id: `file-${at}`, filename: `${at}.txt`, createdAt: at },
    ...{ attributes: { part: at % 100 }, chunking: { maxTokens: 800, overlapTokens: 400 }, autoChunking: true },
  }));
  for (let at = 0; at < files.length; at += 500) await index.addFiles(STORE, files.slice(at, at + 500));
  for (let claim = await index.claim(1, 2e12); claim; claim = await index.claim(1, 2e12)) {
    const own = Array.from({ length: chunks }, () => ({ text: someWords(200), embedding: someVector() }));
    await index.addChunks(claim, 0, own);
    await index.endClaim(claim, { status: 'completed' });
  }
}

/** The median and the 99th percentile in milliseconds, and the longest pause of the event loop. */
async function timesOf(search) {
  const times = [];
  const pauses = monitorEventLoopDelay({ resolution: 5 });
  pauses.enable();
  for (let count = 0; count < searches; count += 1) {
    const began = performance.now();
    await search();
    times.push(performance.now() - began);
    await new Promise((resolve) => setImmediate(resolve));
  }
  pauses.disable();
  times.sort((one, other) => one - other);
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(1);
  return `${at(0.5)} / ${at(0.99)} / ${(pauses.max / 1e6).toFixed(0)}`;
}

async function measure(name, index, sizeOf) {
  const began = performance.now();
  await fill(index);
  const seconds = (performance.now() - began) / 1000;
  const query = { scope: STORE.scope, stores: [STORE.id], limit: 20 };
  const filtered = { ...query, filter: { type: 'eq', key: 'part', value: 7 } };
  const row = {
    index: name,
    'documents/s': Math.round(documents / seconds),
    nearest: await timesOf(() => index.nearest(query, someVector())),
    'nearest, filtered': await timesOf(() => index.nearest(filtered, someVector())),
    words: await timesOf(() => index.matching(query, someWords(5))),
    'words, filtered': await timesOf(() => index.matching(filtered, someWords(5))),
    'RSS MB': Math.round(process.memoryUsage().rss / 1e6),
    'disk MB': Math.round((await sizeOf()) / 1e6),
  };
  console.log(JSON.stringify(row));
}

const wanted = values.only.split(',');
if (wanted.includes('sqlite')) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-vectors-'));
  const file = join(folder, 'vectors.db');
  const database = new Database(file);
  await measure('sqlite', sqliteVectors({ database }), () => {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return statSync(file).size;
  });
  database.close();
  rmSync(folder, { recursive: true });
}
if (wanted.includes('postgres') && process.env.DATABASE_URL) {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  await pool.query('CREATE EXTENSION IF NOT EXISTS vector');
  const tablePrefix = `bench${Date.now()}_`;
  await measure('postgres', postgresVectors({ pool, tablePrefix }), async () => {
    const { rows } = await pool.query(
      `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relkind = 'r' AND starts_with(relname, $1)`,
      [tablePrefix],
    );
    return Number(rows[0].bytes);
  });
  await pool.end();
}
if (wanted.includes('memory')) {
  await measure('memory', memoryVectors({ maxBytes: 2 ** 31 }), () => 0);
}
