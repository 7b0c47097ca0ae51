/** The Files API alone in its process, which may be killed, and whose memory can be measured; run by `large.slow.test.ts`. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import express from 'express';
import { diskFiles, filesRouter, type SqliteDatabase, sqliteFiles } from '../../../src/files.ts';
import { listening } from '../../support/listening.ts';

const { FOLDER = '', STORE, FILE_BYTES } = process.env;

function store() {
  if (STORE !== 'sqlite') return diskFiles({ folder: FOLDER });
  // The cast: what the package exports.
  const Libsql = createRequire(import.meta.url)('libsql') as new (file: string) => SqliteDatabase;
  return sqliteFiles({ database: new Libsql(join(FOLDER, 'files.db')) });
}

const quota = { fileBytes: Number(FILE_BYTES) };
const { url } = await listening(express().use('/v1', filesRouter({ files: store(), quota, logger: false })));

let peak = 0;
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, 5);

process.on('message', () => {
  globalThis.gc?.();
  process.send?.({ peak, rss: process.memoryUsage.rss() });
  peak = 0;
});
process.send?.(`${url}/v1`);
