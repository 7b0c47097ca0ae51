/** Hand-made uploads: odd and hostile forms are answered clearly, and leave nothing behind. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileStore } from '../../../src/files.ts';
import { memoryFiles } from '../../../src/files.ts';
import {
  ALICE,
  BOB,
  BOUNDARY,
  type FilesApp,
  type FilesAppOptions,
  filePart,
  formOf,
  PURPOSE,
  post,
  send,
  startFilesApp,
  until,
} from './files-app.ts';

let app: FilesApp;

async function start(options: FilesAppOptions = {}): Promise<void> {
  app = await startFilesApp(options);
}

afterEach(() => app.close());

/** The code of the error, and what is left on the disk. */
async function refused(...args: Parameters<typeof post> extends [string, ...infer Rest] ? Rest : never) {
  const { status, json } = await post(app.base, ...args);
  return [status, json.error?.code, json.error?.param, app.paths()];
}

describe('a form', () => {
  beforeEach(() => start());

  it('[X-14] may have its fields behind the file', async () => {
    const { status, json } = await post(app.base, [
      filePart('Hello'),
      PURPOSE,
      { name: 'expires_after[seconds]', value: '7200' },
      { name: 'expires_after[anchor]', value: 'created_at' },
    ]);
    expect([status, json.purpose, json.expires_at - json.created_at]).toEqual([200, 'user_data', 7200]);
  });

  it.each([
    ['../../../../etc/passwd', 'passwd'],
    ['..\\\\..\\\\windows\\\\x.ini', 'x.ini'],
    ['..', 'file'],
    ['/', 'file'],
    ['a\u0000b.txt', 'ab.txt'],
    ['__proto__', '__proto__'],
    ['invoice\u202egpj.exe', 'invoicegpj.exe'],
    ['', 'file'],
  ])('[X-14] with a file called %j keeps no path of it', async (filename, kept) => {
    const { json } = await post(app.base, [filePart('x', filename), PURPOSE]);
    expect(json.filename).toBe(kept);
    for (const path of app.paths())
      expect(path.slice(app.folder.length)).toMatch(/^\/tenants\/[0-9a-f]{64}\/[0-9a-f]{64}\/(content|file\.json)$/);
  });

  it('[X-14] with half a surrogate pair in the name of its file has a replacement character there', async () => {
    const form = formOf([filePart('x', 'name'), PURPOSE]).toString();
    const odd = form.replace('filename="name"', "filename*=utf-16le''a%00%00%d8");
    expect((await post(app.base, Buffer.from(odd))).json.filename).toBe('a\ufffd');
  });

  it('[X-14] with an empty file is a file of no bytes', async () => {
    const { json } = await post(app.base, [filePart(''), PURPOSE]);
    const content = await send(app.base, `/files/${json.id}/content`);
    expect([json.bytes, content]).toEqual([0, { status: 200, json: '' }]);
  });

  it.each([
    ['no file', [PURPOSE], 'missing_required_parameter', 'file'],
    ['no purpose', [filePart('x')], 'missing_required_parameter', 'purpose'],
    ['two files', [filePart('x'), filePart('y'), PURPOSE], 'invalid_multipart', null],
    ['a file in another part', [{ ...filePart('x'), name: 'upload' }, PURPOSE], 'invalid_value', 'file'],
    ['a file without a name', [{ name: 'file', value: 'x' }, PURPOSE], 'invalid_multipart', null],
    ['a field twice', [filePart('x'), PURPOSE, PURPOSE], 'invalid_multipart', null],
    ['a file name of 1 MB', [filePart('x', `${'n'.repeat(1e6)}.txt`), PURPOSE], 'string_above_max_length', 'file'],
    ['a file name of 256 characters', [filePart('x', 'n'.repeat(256)), PURPOSE], 'string_above_max_length', 'file'],
    [
      'a field of 2 kB',
      [filePart('x'), { name: 'purpose', value: 'p'.repeat(2000) }],
      'string_above_max_length',
      'purpose',
    ],
    [
      'an encoded file',
      [{ ...filePart('eA=='), extra: 'Content-Transfer-Encoding: base64\r\n' }, PURPOSE],
      'invalid_multipart',
      null,
    ],
    [
      'JSON for an expiry',
      [filePart('x'), PURPOSE, { name: 'expires_after', value: '{}' }],
      'invalid_value',
      'expires_after',
    ],
    [
      'many parts',
      [...Array.from({ length: 17 }, (_, at) => ({ name: `f${at}`, value: '' })), filePart('x'), PURPOSE],
      'invalid_multipart',
      null,
    ],
  ])('[X-14] with %s is refused, and nothing is kept', async (_, parts, code, param) => {
    expect(await refused(parts)).toEqual([400, code, param, []]);
  });

  it.each([
    ['that is cut', formOf([filePart('x'), PURPOSE], true), 400, 'invalid_multipart'],
    [
      'that is cut within the file',
      formOf([PURPOSE, filePart('x'.repeat(100_000))]).subarray(0, 50_000),
      400,
      'invalid_multipart',
    ],
    ['that is empty', Buffer.alloc(0), 400, 'invalid_multipart'],
    ['of noise', Buffer.alloc(100_000, 'noise'), 400, 'invalid_multipart'],
    ['with an end alone', Buffer.from(`--${BOUNDARY}--\r\n`), 400, 'missing_required_parameter'],
  ])('[X-14] %s is refused, and nothing is kept', async (_, body, status, code) => {
    expect((await refused(body)).toSpliced(2, 1)).toEqual([status, code, []]);
  });

  it.each([10, 16_384, 65_535, 65_536, 70_000, 1_000_000])(
    '[X-14] whose file of %d bytes is no form data is refused, and nothing is kept',
    async (length) => {
      const form = formOf([PURPOSE, filePart('x'.repeat(length))]).toString('latin1');
      const odd = form.replace('form-data; name="file"', 'attachment; name="file"');
      expect(await refused(Buffer.from(odd))).toEqual([400, 'missing_required_parameter', 'file', []]);
    },
  );

  it.each([
    ['application/json', 415, 'unsupported_media_type'],
    ['text/plain', 415, 'unsupported_media_type'],
    ['application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['multipart/mixed; boundary=x', 415, 'unsupported_media_type'],
    ['multipart/form-data', 400, 'invalid_multipart'],
    ['multipart/form-data; boundary=', 400, 'invalid_multipart'],
    ['multipart/form-data; title="; boundary=x"', 400, 'invalid_multipart'],
    [`multipart/form-data; boundary=${'b'.repeat(10_000)}`, 400, 'invalid_multipart'],
  ])('[X-14] of the type %.60s is refused', async (type, status, code) => {
    const { status: actual, json } = await post(app.base, [filePart('x'), PURPOSE], { 'content-type': type });
    expect([actual, json.error.code, app.paths()]).toEqual([status, code, []]);
  });

  it('[X-14] is answered however it is cut or changed', async () => {
    const whole = formOf([PURPOSE, filePart('x'.repeat(300)), { name: 'other', value: 'y' }]);
    let kept = 0;
    for (let at = 0; at < whole.length; at += 7) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 0x55;
      for (const body of [whole.subarray(0, at), changed, Buffer.concat([changed.subarray(at), whole])]) {
        const { status } = await post(app.base, body);
        expect([200, 400]).toContain(status);
        kept += Number(status === 200);
      }
    }
    expect(app.paths()).toHaveLength(2 * kept);
  });
});

describe('the limits of uploads', () => {
  it('[X-14] refuse a file that is too long, and take one that is just not', async () => {
    await start({ quota: { fileBytes: 100_000 } });
    const [fits, tooLong] = [filePart('x'.repeat(100_000)), filePart('x'.repeat(100_001))];
    expect(await refused([tooLong, PURPOSE])).toEqual([413, 'file_too_large', 'file', []]);
    expect((await post(app.base, [fits, PURPOSE])).json.bytes).toBe(100_000);
  });

  it('[X-14] refuse 2 GB that are announced before they are sent', async () => {
    await start();
    const socket = await opened(2 ** 31);
    expect(await answerOn(socket)).toMatch(/^HTTP\/1.1 413 [\s\S]*file_too_large/);
    socket.destroy();
  });

  it('[X-14] keep nothing of an upload whose client leaves in the middle', async () => {
    await start();
    const socket = await opened(200_000_000);
    socket.write(formOf([PURPOSE, filePart('x'.repeat(300_000))], true));
    await until(() => app.bytes() > 200_000);
    socket.destroy();
    await until(() => app.paths().length === 0);
    expect((await send(app.base, '/files')).json.data).toEqual([]);
  });

  it('[X-14] give up an upload that rests, and report it to its client', async () => {
    await start({ quota: { idleTimeoutMs: 100 } });
    const socket = await opened(200_000_000);
    socket.write(formOf([PURPOSE, filePart('x'.repeat(300_000))], true));
    expect(await answerOn(socket)).toMatch(/^HTTP\/1.1 408 [\s\S]*upload_timeout/);
    await until(() => app.paths().length === 0);
    socket.destroy();
  });

  it.each([
    ['begins', 'usage'],
    ['is written', 'put'],
  ] as const)('[X-14] do not blame the client for a store that is slow while it %s', async (_, slow) => {
    const files = memoryFiles();
    async function* late(content: AsyncIterable<Uint8Array>) {
      for await (const piece of content) {
        await sleep(400);
        yield piece;
      }
    }
    const slowly: Pick<FileStore, 'usage' | 'put'> = {
      usage: async (scope) => {
        await sleep(400);
        return files.usage(scope);
      },
      put: (upload) => files.put({ ...upload, content: late(upload.content) }),
    };
    await start({
      files: Object.assign(Object.create(files), { [slow]: slowly[slow] }),
      quota: { idleTimeoutMs: 100 },
    });
    expect((await post(app.base, [filePart('Hello'), PURPOSE])).status).toBe(200);
  });

  it('[X-14] never let a tenant have more than its quota, however many uploads come at once', async () => {
    await start({ quota: { tenantBytes: 250_000, uploads: 100 } });
    const parts = [filePart('x'.repeat(100_000)), PURPOSE];
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(app.base, parts)));
    const codes = answers.map(({ status, json }) => (status === 200 ? 'stored' : json.error.code)).sort();
    const stored = codes.filter((code) => code === 'stored').length;
    expect(stored).toBeLessThanOrEqual(2);
    expect(codes.filter((code) => code !== 'stored')).toEqual(Array(20 - stored).fill('file_quota_exceeded'));
    expect((await send(app.base, '/files')).json.data).toHaveLength(stored);
    expect((await post(app.base, parts, BOB)).status).toBe(200);
  });

  it('[X-14] refuse a tenant more files than it may have, until it deletes one', async () => {
    await start({ quota: { files: 1 } });
    const first = await post(app.base, [filePart('x'), PURPOSE]);
    const { status, json } = await post(app.base, [filePart('x'), PURPOSE]);
    expect([status, json.error.code]).toEqual([400, 'file_quota_exceeded']);
    await send(app.base, `/files/${first.json.id}`, 'DELETE');
    expect((await post(app.base, [filePart('x'), PURPOSE])).status).toBe(200);
  });

  it('[X-14] refuse a tenant more uploads at once, and others none', async () => {
    await start({ quota: { uploads: 1 } });
    const socket = await opened(1_000_000);
    socket.write(formOf([PURPOSE, filePart('x'.repeat(300_000))], true));
    await until(() => app.bytes() > 200_000);
    const { status, json } = await post(app.base, [filePart('x'), PURPOSE]);
    expect([status, json.error.code]).toEqual([429, 'too_many_uploads']);
    expect((await post(app.base, [filePart('x'), PURPOSE], BOB)).status).toBe(200);
    socket.destroy();
    await until(async () => (await post(app.base, [filePart('x'), PURPOSE])).status === 200);
  });
});

describe('a store that fails', () => {
  const failing = (put: FileStore['put']): FileStore => {
    const files = memoryFiles();
    return Object.assign(Object.create(files), { put }) as FileStore;
  };

  it('[X-14] in the middle of an upload is an error of the server, without its reason for the client', async () => {
    const errors: unknown[] = [];
    const files = failing(async ({ content }) => {
      for await (const piece of content) if (piece.byteLength > 0) throw new Error('ENOSPC: no space left on /secret');
      throw new Error('There was no content.');
    });
    await start({ files, hooks: { onError: (error) => void errors.push(error.cause) } });
    const { status, json } = await post(app.base, [filePart('x'.repeat(500_000)), PURPOSE]);
    expect([status, json.error]).toEqual([
      500,
      { message: 'The store of files failed.', type: 'server_error', param: null, code: 'store_error' },
    ]);
    expect(errors).toEqual([expect.objectContaining({ message: 'ENOSPC: no space left on /secret' })]);
  });

  it('[X-14] to read its answer in the middle cuts it off, so that no client takes it for whole', async () => {
    const whole = memoryFiles();
    async function* failingContent() {
      yield Buffer.from('Hel');
      await sleep(20);
      throw new Error('The disk is gone.');
    }
    const files = Object.assign(Object.create(whole), { read: () => failingContent() }) as FileStore;
    await start({ files });
    const { json } = await post(app.base, [filePart('Hello'), PURPOSE]);
    const answer = fetch(`${app.base}/files/${json.id}/content`, { headers: ALICE }).then((each) => each.text());
    await expect(answer).rejects.toThrow();
  });
});

/** A connection that has announced an upload of this length. */
async function opened(length: number): Promise<Socket> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(
    `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Length: ${length}\r\n` +
      `Content-Type: multipart/form-data; boundary=${BOUNDARY}\r\n\r\n`,
  );
  return socket;
}

async function answerOn(socket: Socket): Promise<string> {
  const [bytes] = await once(socket, 'data');
  return String(bytes);
}
