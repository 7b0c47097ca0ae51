/** OpenAI's client sends a file in parts, over the stores of files; and what others try with them. */
import { createHash } from 'node:crypto';
import OpenAI, { toFile } from 'openai';
import { type FileStore, memoryFiles, sqliteFiles } from '../../../src/files.ts';
import { databaseFile, type OpenDatabase, sqliteDrivers } from '../../stores/sqlite-drivers.ts';
import { type FilesApp, type FilesAppOptions, startFilesApp } from './files-app.ts';

let app: FilesApp;
let client: OpenAI;

async function start(options: FilesAppOptions = {}): Promise<void> {
  app = await startFilesApp(options);
  client = new OpenAI({ baseURL: app.base, apiKey: 'client-key', maxRetries: 0 });
}

afterEach(() => app.close());

const FILE = { filename: 'long.txt', mime_type: 'text/plain', purpose: 'user_data' } as const;

async function pending(bytes: number): Promise<string> {
  return (await client.uploads.create({ ...FILE, bytes })).id;
}

async function part(upload: string, text: string): Promise<string> {
  return (await client.uploads.parts.create(upload, { data: await toFile(Buffer.from(text), 'part') })).id;
}

/** The status of a refusal, and the field at fault. */
function refusal(asking: Promise<unknown>): Promise<readonly unknown[]> {
  return asking.then(
    () => [200],
    (error) => [error.status, error.param],
  );
}

async function listed(): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { filename } of client.files.list()) names.push(filename);
  return names;
}

describe.each<readonly [string, () => { readonly files?: FileStore; end?(): void }]>([
  ['a folder', () => ({})],
  ['memory', () => ({ files: memoryFiles() })],
  ['SQLite', inSqlite],
])('[E-08] parts kept in %s', (_, make) => {
  it('become one file in the order that the client names', async () => {
    const { end, ...options } = make();
    await start(options);
    const id = await pending(11);
    const second = await part(id, 'world');
    const first = await part(id, 'Hello ');
    const during = await listed();
    const md5 = createHash('md5').update('Hello world').digest('hex');
    const done = await client.uploads.complete(id, { part_ids: [first, second], md5 });
    const file = String(done.file?.id);
    expect(done).toMatchObject({ id, object: 'upload', status: 'completed', bytes: 11, file: { bytes: 11, ...named } });
    expect([during, await listed()]).toEqual([[], ['long.txt']]);
    expect(await (await client.files.content(file)).text()).toBe('Hello world');
    expect(await client.uploads.complete(id, { part_ids: [first, second] })).toEqual(done);
    end?.();
  });
});

const named = { filename: 'long.txt', purpose: 'user_data', object: 'file' };

function inSqlite() {
  const { file, remove } = databaseFile();
  const database = sqliteDrivers[0]?.open?.(file) as OpenDatabase;
  const end = () => {
    database.close();
    remove();
  };
  return { files: sqliteFiles({ database }), end };
}

describe('parts of a file', () => {
  it('[E-08] are sent by a client that has read no API but OpenAI’s', async () => {
    await start();
    const created = await client.uploads.create({
      ...FILE,
      bytes: 3,
      expires_after: { anchor: 'created_at', seconds: 3600 },
    });
    expect(created).toEqual({
      id: expect.stringMatching(/^upload_[0-9a-f]{32}$/),
      object: 'upload',
      bytes: 3,
      created_at: expect.any(Number),
      expires_at: created.created_at + 3600,
      filename: 'long.txt',
      purpose: 'user_data',
      status: 'pending',
    });
    const data = await toFile(Buffer.from('abc'), 'part');
    expect(await client.uploads.parts.create(created.id, { data })).toEqual({
      id: expect.stringMatching(/^part_[0-9a-f]{32}$/),
      object: 'upload.part',
      created_at: expect.any(Number),
      upload_id: created.id,
    });
  });

  it('[E-08] are refused at the end if they are not the declared file, and may be put right', async () => {
    await start();
    const id = await pending(3);
    const other = await pending(3);
    const [a, b, foreign] = [await part(id, 'ab'), await part(id, 'c'), await part(other, 'c')];
    const complete = (part_ids: string[], md5?: string) =>
      refusal(client.uploads.complete(id, { part_ids, ...(md5 === undefined ? {} : { md5 }) }));
    expect([
      await complete([a]),
      await complete([a, b, b]),
      await complete([a, foreign]),
      await complete([a, `part_${'0'.repeat(32)}`]),
      await complete([a, '../../etc/passwd']),
      await complete([]),
      await complete([a, b], '0'.repeat(32)),
    ]).toEqual([
      [400, 'part_ids'],
      [400, 'part_ids'],
      [400, 'part_ids'],
      [400, 'part_ids'],
      [400, 'part_ids'],
      [400, 'part_ids'],
      [400, 'md5'],
    ]);
    expect(await listed()).toEqual([]);
    expect(await complete([a, b])).toEqual([200]);
  });

  it('[E-08] leave nothing behind when the upload is cancelled, and none can follow', async () => {
    await start();
    const id = await pending(3);
    const a = await part(id, 'abc');
    const cancelled = await client.uploads.cancel(id);
    expect([cancelled.status, app.paths()]).toEqual(['cancelled', []]);
    expect([
      await refusal(part(id, 'abc')),
      await refusal(client.uploads.complete(id, { part_ids: [a] })),
      await refusal(client.uploads.cancel(id)),
    ]).toEqual([
      [404, 'upload_id'],
      [404, 'upload_id'],
      [404, 'upload_id'],
    ]);
  });

  it('[E-08] cannot be cancelled while they become a file, which is then there', async () => {
    const files = memoryFiles();
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const put: FileStore['put'] = async (upload) => {
      const isWhole = upload.details().purpose === 'user_data';
      if (isWhole) begin();
      if (isWhole) await opened;
      return files.put(upload);
    };
    await start({ files: Object.assign(Object.create(files), { put }) });
    const id = await pending(5);
    const completed = client.uploads.complete(id, { part_ids: [await part(id, 'Hello')] });
    await begun;
    const cancelled = await refusal(client.uploads.cancel(id));
    open();
    const { status } = await completed;
    expect([cancelled, status, await listed()]).toEqual([[400, 'upload_id'], 'completed', ['long.txt']]);
  });

  it('[E-08] are no other tenant’s, and no file', async () => {
    await start();
    const id = await pending(3);
    const a = await part(id, 'abc');
    const stranger = new OpenAI({ baseURL: app.base, apiKey: 'another-key', maxRetries: 0 });
    const data = await toFile(Buffer.from('x'), 'part');
    expect([
      await refusal(stranger.uploads.complete(id, { part_ids: [a] })),
      await refusal(stranger.uploads.cancel(id)),
      await refusal(stranger.uploads.parts.create(id, { data })),
      await refusal(client.files.content(a.replace('part_', 'file-'))),
      await refusal(client.files.content(id.replace('upload_', 'file-'))),
    ]).toEqual([
      [404, 'upload_id'],
      [404, 'upload_id'],
      [404, 'upload_id'],
      [404, 'id'],
      [404, 'id'],
    ]);
  });

  it('[E-08] are bounded: the declared file, each part, and all parts of a tenant', async () => {
    await start({ quota: { fileBytes: 4, tenantBytes: 1000, files: 5, idleTimeoutMs: 60_000 } });
    const id = await pending(4);
    expect([
      await refusal(client.uploads.create({ ...FILE, bytes: 5 })),
      await refusal(part(id, 'abcde')),
      await refusal(client.uploads.create({ ...FILE, bytes: 4, purpose: 'anything' as never })),
      await refusal(client.uploads.create({ ...FILE, bytes: -1 })),
      await refusal(client.uploads.create({ ...FILE, bytes: 1, expires_after: { anchor: 'created_at', seconds: 1 } })),
    ]).toEqual([
      [413, 'file'],
      [413, 'file'],
      [400, 'purpose'],
      [400, 'bytes'],
      [400, 'expires_after'],
    ]);
    for (let count = 0; count < 4; count += 1) await part(id, 'abcd');
    expect(await refusal(part(id, 'abcd'))).toEqual([400, 'file']);
  });

  it('[E-08] are refused under another name than `data`', async () => {
    await start();
    const id = await pending(1);
    const form = new FormData();
    form.append('file', new Blob(['x']), 'part');
    const answer = await fetch(`${app.base}/uploads/${id}/parts`, {
      method: 'POST',
      headers: { authorization: 'Bearer client-key' },
      body: form,
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'data' } }]);
  });
});
