/** Vector stores over SQLite alone in their process, which may be killed; run by `killed.slow.test.ts`. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import express from 'express';
import { diskFiles, filesRouter, type SqliteDatabase } from '../../../src/files.ts';
import { createVectorStores, sqliteVectors, vectorStoresRouter } from '../../../src/vector-stores.ts';
import { listening } from '../../support/listening.ts';

const { FOLDER = '', EMBEDDINGS = '' } = process.env;
// The cast: what the package exports.
const Libsql = createRequire(import.meta.url)('libsql') as new (file: string) => SqliteDatabase;

const files = diskFiles({ folder: join(FOLDER, 'files') });
const index = sqliteVectors({ database: new Libsql(join(FOLDER, 'vectors.db')) });
const embeddings = { baseURL: EMBEDDINGS, model: 'hash', batchTexts: 16 };
// A killed process's file waits for so long.
const indexing = { claimMs: 1000, pollMs: 100 };
const vectorStores = createVectorStores({ files, index, embeddings, indexing, logger: false });
const app = express().use(
  '/v1',
  filesRouter({ files, logger: false }),
  vectorStoresRouter({ vectorStores, logger: false }),
);
const { url } = await listening(app);
process.send?.(`${url}/v1`);
