/** The Files API without Express: as a function from a request to a reply, and below the Web handler. */
import OpenAI, { toFile } from 'openai';
import { openResponses } from '../../../src/core.ts';
import { type FilesOptions, filesApi, memoryFiles } from '../../../src/files.ts';
import { BOUNDARY, filePart, formOf, PURPOSE } from './files-app.ts';

/** OpenAI's client on a Web handler, without a socket. */
function clientOf(options: FilesOptions, apiKey = 'alice'): OpenAI {
  const { files } = options;
  const handler = openResponses({ basePath: '/v1', logger: false, files, apis: [filesApi(options)] }).fetch;
  const fetch = async (url: string | URL | Request, init?: RequestInit) =>
    handler(await received(new Request(url, init)));
  return new OpenAI({ baseURL: 'http://app/v1', apiKey, maxRetries: 0, fetch });
}

/** As a server has it. The stream of a `FormData` that is cancelled throws on Node 24 where nobody can catch it. */
async function received(request: Request): Promise<Request> {
  return request.body ? new Request(request, { body: await request.arrayBuffer() }) : request;
}

describe('filesApi', () => {
  it('[X-14][X-03] serves uploads, lists, contents and deletes below the Web handler', async () => {
    const client = clientOf({ files: memoryFiles() });
    const { id } = await client.files.create({
      file: await toFile(Buffer.from('Hello'), 'a.txt'),
      purpose: 'user_data',
    });
    const part = await client.files.content(id, { headers: { range: 'bytes=1-3' } });
    expect([part.status, await part.text()]).toEqual([206, 'ell']);
    expect((await client.files.list()).data.map((file) => file.id)).toEqual([id]);
    expect((await client.files.delete(id)).deleted).toBe(true);
    await expect(client.files.retrieve(id)).rejects.toMatchObject({ status: 404, code: 'file_not_found' });
  });

  it('[X-14][X-03] shows no tenant the files of another', async () => {
    const files = memoryFiles();
    const { id } = await clientOf({ files }).files.create({
      file: await toFile(Buffer.from('x'), 'a'),
      purpose: 'vision',
    });
    const bob = clientOf({ files }, 'bob');
    await expect(bob.files.content(id)).rejects.toMatchObject({ status: 404 });
    expect((await bob.files.list()).data).toEqual([]);
  });

  it('[X-14][X-03] keeps its limits, and reads no JSON of an upload', async () => {
    const client = clientOf({ files: memoryFiles(), quota: { fileBytes: 4 } });
    const file = await toFile(Buffer.from('Hello'), 'a.txt');
    await expect(client.files.create({ file, purpose: 'user_data' })).rejects.toMatchObject({ status: 413 });
    await expect(client.post('/files', { body: { file: 'x' } })).rejects.toMatchObject({ status: 415 });
  });

  it('[X-14][X-03] answers requests of any framework', async () => {
    const api = openResponses({ apis: [filesApi({ files: memoryFiles() })], logger: false });
    const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
    async function* bytes() {
      yield formOf([filePart('Hello'), PURPOSE]);
    }
    const { signal } = new AbortController();
    const reply = await api.handle({ method: 'POST', path: '/files', headers, bytes: bytes(), signal });
    expect([reply?.status, JSON.parse(String(reply?.body))]).toMatchObject([200, { filename: 'notes.txt', bytes: 5 }]);
    expect(api.handle({ method: 'POST', path: '/vector_stores', headers, signal })).toBeUndefined();
  });

  it('[F-31] refuses bad options, and openResponses what is no API', () => {
    expect(() => filesApi({} as FilesOptions)).toThrow('filesApi: files is missing, got undefined');
    expect(() => filesApi({ files: memoryFiles(), scope: () => 'me' } as FilesOptions)).toThrow(
      "unknown option 'scope'",
    );
    expect(() => openResponses({ apis: [{}] as never })).toThrow('openResponses: apis must be a list of APIs');
  });
});
