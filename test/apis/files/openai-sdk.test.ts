/** OpenAI's own client on the Files API, over real HTTP. */
import OpenAI, { toFile } from 'openai';
import { type FilesApp, startFilesApp } from './files-app.ts';

let app: FilesApp;
let client: OpenAI;

beforeEach(async () => {
  app = await startFilesApp();
  client = new OpenAI({ baseURL: app.base, apiKey: 'client-key', maxRetries: 0 });
});

afterEach(() => app.close());

async function upload(text = 'Hello', name = 'hello.txt', more: Partial<OpenAI.FileCreateParams> = {}) {
  return client.files.create({ file: await toFile(Buffer.from(text), name), purpose: 'user_data', ...more });
}

describe('OpenAI’s client', () => {
  it('[X-14] uploads a file and describes it', async () => {
    const before = Math.floor(Date.now() / 1000);
    const file = await upload('Hëllo', 'ünïcode name.txt');
    expect(file).toEqual({
      id: expect.stringMatching(/^file-[0-9a-f]{32}$/),
      object: 'file',
      bytes: 6,
      created_at: expect.any(Number),
      filename: 'ünïcode name.txt',
      purpose: 'user_data',
      status: 'processed',
      status_details: null,
    });
    expect(await client.files.retrieve(file.id)).toEqual(file);
    expect([file.created_at >= before, file.created_at <= Date.now() / 1000]).toEqual([true, true]);
  });

  it('[X-14] reads the content back, with a name to save it under', async () => {
    const { id } = await upload('a,b\n1,2\n', 'täble.csv');
    const answer = await client.files.content(id);
    expect(await answer.text()).toBe('a,b\n1,2\n');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '8',
      'content-disposition': "attachment; filename*=UTF-8''t%C3%A4ble.csv",
      'x-content-type-options': 'nosniff',
    });
  });

  it('[X-14] lists files, newest first, over several pages', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await upload(name, `${name}.txt`, { purpose: name < 'd' ? 'user_data' : 'vision' });
    const listed: string[] = [];
    for await (const { filename } of client.files.list({ limit: 2 })) listed.push(filename);
    expect([...listed].sort()).toEqual(names.map((name) => `${name}.txt`));
    const times = (await client.files.list()).data.map(({ created_at: time }) => time);
    expect(times).toEqual(times.toSorted((one, other) => other - one));
    const oldest = await client.files.list({ order: 'asc', purpose: 'vision' });
    expect(oldest.data.map(({ purpose }) => purpose)).toEqual(['vision', 'vision']);
  });

  it('[X-14] deletes a file, once', async () => {
    const { id } = await upload();
    expect(await client.files.delete(id)).toEqual({ id, object: 'file', deleted: true });
    for (const call of ['delete', 'retrieve', 'content'] as const)
      await expect(client.files[call](id)).rejects.toMatchObject({ status: 404, code: 'file_not_found', param: 'id' });
    expect(app.bytes()).toBe(0);
  });

  it('[X-14] lets a file expire', async () => {
    const file = await upload('x', 'x.txt', { expires_after: { anchor: 'created_at', seconds: 3600 } });
    expect(file.expires_at).toBe(file.created_at + 3600);
    expect((await client.files.retrieve(file.id)).expires_at).toBe(file.created_at + 3600);
  });

  it.each([
    ['purpose', { purpose: 'nonsense' as 'batch' }, 'purpose'],
    ['expiry that is too soon', { expires_after: { anchor: 'created_at', seconds: 59 } }, 'expires_after'],
    ['expiry that is too late', { expires_after: { anchor: 'created_at', seconds: 2_592_001 } }, 'expires_after'],
    ['anchor', { expires_after: { anchor: 'now' as 'created_at', seconds: 3600 } }, 'expires_after'],
  ] as const)('[X-14] learns of a bad %s, and nothing is kept', async (_, more, param) => {
    await expect(upload('x', 'x.txt', more)).rejects.toMatchObject({ status: 400, code: 'invalid_value', param });
    expect(app.paths()).toEqual([]);
  });

  it('[X-14] uploads a stream whose length it does not know', async () => {
    async function* lines() {
      for (let line = 0; line < 5000; line += 1) yield Buffer.from(`line ${line}\n`);
    }
    const file = await client.files.create({ file: await toFile(lines(), 'lines.txt'), purpose: 'batch' });
    expect(file.bytes).toBe(48_890);
  });
});
