/** Misconfiguration of the Files API and its stores is found at creation. */
import express from 'express';
import {
  diskFiles,
  type FileStore,
  filesRouter,
  memoryFiles,
  postgresFiles,
  s3Files,
  sqliteFiles,
} from '../../../src/files.ts';
import type { ApiError } from '../../../src/protocol/errors.ts';
import { listening } from '../../support/listening.ts';
import { ALICE } from './files-app.ts';

const S3 = { send: async () => ({}) };
const files = memoryFiles();
// The casts: what a host without types might pass.
const router = (options: object) => () => filesRouter({ files, ...options } as { files: FileStore });

describe('filesRouter', () => {
  it.each([
    ['no store', () => filesRouter({} as { files: FileStore }), 'filesRouter: files is missing, got undefined'],
    [
      'a store of responses',
      router({ files: { get() {} } }),
      'filesRouter: files must be an object with put, get, read',
    ],
    ['an unknown option', router({ store: files }), "filesRouter: unknown option 'store'"],
    ['an unknown limit', router({ quota: { size: 1 } }), "filesRouter: quota: unknown option 'size'"],
    ['the limits of another router', router({ limits: {} }), "filesRouter: unknown option 'limits'"],
    ['a limit of nothing', router({ quota: { fileBytes: 0 } }), 'fileBytes must be a positive number, got 0'],
    ['a time that is too long', router({ quota: { idleTimeoutMs: 2 ** 31 } }), 'idleTimeoutMs must be a whole number'],
    ['a scope that is a text', router({ scope: 'me' }), "filesRouter: scope must be a function, got 'me'"],
    ['no folder', () => diskFiles({} as { folder: string }), 'diskFiles: folder is missing'],
    ['an empty folder', () => diskFiles({ folder: '' }), "diskFiles: folder must be the path of a folder, got ''"],
    ['no database', () => sqliteFiles({ database: {} as never }), 'sqliteFiles: database must be a connection'],
    ['no pool', () => postgresFiles({} as never), 'postgresFiles: pool is missing'],
    [
      'a prefix of two tables',
      () => postgresFiles({ pool: {} as never, tablePrefix: 'a;b' }),
      'postgresFiles: pool must be',
    ],
    ['no client', () => s3Files({ bucket: 'b' } as never), 's3Files: client is missing'],
    ['a client of another kind', () => s3Files({ client: {} as never, bucket: 'b' }), 's3Files: client must be'],
    ['no bucket', () => s3Files({ client: S3 } as never), 's3Files: bucket is missing'],
    [
      'a prefix that is no path',
      () => s3Files({ client: S3, bucket: 'b', prefix: '../x' }),
      "s3Files: prefix must be empty or a path that ends in '/', got '../x'",
    ],
    ['no room', () => memoryFiles({ maxBytes: 0 }), 'memoryFiles: maxBytes must be a positive whole number, got 0'],
  ])('[F-31] refuses %s', (_, create, message) => {
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
  });

  it('[X-14] reports to the host that another handler has read the body', async () => {
    const faults: unknown[] = [];
    const hooks = { onError: ({ cause }: ApiError) => cause && faults.push(cause) };
    const app = express().use(express.raw({ type: () => true }), filesRouter({ files, hooks }));
    const { url, close } = await listening(app);
    const form = new FormData();
    form.set('file', new Blob(['x']), 'x.txt');
    const answer = await fetch(`${url}/files`, { method: 'POST', headers: ALICE, body: form });
    expect([answer.status, await answer.json()]).toMatchObject([500, { error: { code: 'server_error' } }]);
    await close();
    expect(String(faults[0])).toContain('mount filesRouter before it');
  });
});

it('[K-07] answers a client of Anthropic’s that its Files API is not here, in its own words', async () => {
  const { url, close } = await listening(express().use('/v1', filesRouter({ files: memoryFiles() })));
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'files-api-2025-04-14' };
  for (const [method, path] of [
    ['GET', '/files'],
    ['POST', '/files'],
    ['GET', '/files/file_1'],
    ['GET', '/files/file_1/content'],
    ['DELETE', '/files/file_1'],
  ]) {
    const answer = await fetch(`${url}/v1${path}`, { method: String(method), headers });
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error' }, request_id: expect.any(String) },
    ]);
  }
  expect((await fetch(`${url}/v1/files`)).status).toBe(200);
  await close();
});
