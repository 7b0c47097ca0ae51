/** Reading files over HTTP: ranges, lists, tenants and expiry. */
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { type FileStore, memoryFiles } from '../../../src/files.ts';
import { ALICE, BOB, type FilesApp, filePart, PURPOSE, post, send, startFilesApp, until } from './files-app.ts';

let app: FilesApp;

afterEach(() => app.close());

const DIGITS = '0123456789';

async function uploaded(text = DIGITS): Promise<string> {
  return (await post(app.base, [filePart(text), PURPOSE])).json.id;
}

async function content(id: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
  const answer = await fetch(`${app.base}/files/${id}/content`, { method, headers: { ...ALICE, ...headers } });
  const text = await answer.text();
  return { status: answer.status, text, range: answer.headers.get('content-range'), headers: answer.headers };
}

/** How many files below the folder this process has open, where the system shows it. */
function openBelow(folder: string): number {
  if (!existsSync('/proc/self/fd')) return 0;
  const targets = readdirSync('/proc/self/fd').map((name) => linkOf(`/proc/self/fd/${name}`));
  return targets.filter((target) => target.startsWith(folder)).length;
}

/** The listing itself is open while it is read. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

describe('the content of a file', () => {
  beforeEach(async () => {
    app = await startFilesApp();
  });

  it.each([
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, DIGITS, 'bytes 0-9/10'],
    ['bytes=0-99', 206, DIGITS, 'bytes 0-9/10'],
    ['bytes=9-999999999999999', 206, '9', 'bytes 9-9/10'],
    ['bytes=4-2', 200, DIGITS, null],
    ['bytes=-', 200, DIGITS, null],
    ['bytes=0-1,4-5', 200, DIGITS, null],
    ['bytes=a-b', 200, DIGITS, null],
    ['lines=0-1', 200, DIGITS, null],
    ['bytes=99999999999999999999-', 200, DIGITS, null],
  ])('[X-14] asked for %s is %d', async (range, status, text, part) => {
    const answer = await content(await uploaded(), { range });
    expect([answer.status, answer.text, answer.range]).toEqual([status, text, part]);
    expect(answer.headers.get('content-length')).toBe(String(text.length));
  });

  it.each(['bytes=10-', 'bytes=10-12', 'bytes=-0'])('[X-14] asked for %s has none', async (range) => {
    const answer = await content(await uploaded(), { range });
    expect([answer.status, answer.range, JSON.parse(answer.text).error.code]).toEqual([
      416,
      'bytes */10',
      'range_not_satisfiable',
    ]);
  });

  it('[X-14] is sent whole to a client that has a part of another file', async () => {
    const id = await uploaded();
    const tag = (await content(id)).headers.get('etag') ?? '';
    expect((await content(id, { range: 'bytes=0-1', 'if-range': tag })).text).toBe('01');
    expect((await content(id, { range: 'bytes=0-1', 'if-range': '"another"' })).text).toBe(DIGITS);
  });

  it('[X-14] is not even read for a HEAD', async () => {
    await app.close();
    let isRead = false;
    async function* noticed() {
      isRead = true;
      yield Buffer.from(DIGITS);
    }
    app = await startFilesApp({ files: Object.assign(Object.create(memoryFiles()), { read: () => noticed() }) });
    const answer = await content(await uploaded(), {}, 'HEAD');
    expect([answer.status, isRead]).toEqual([200, false]);
    expect((await content(await uploaded())).text).toBe(DIGITS);
    expect(isRead).toBe(true);
  });

  it('[X-14] is not sent for a HEAD, but described', async () => {
    const answer = await content(await uploaded(), {}, 'HEAD');
    expect([answer.status, answer.text, answer.headers.get('content-length')]).toEqual([200, '', '10']);
  });

  it('[X-14] that is deleted while it is read arrives whole', async () => {
    const text = 'x'.repeat(3_000_000);
    const id = await uploaded(text);
    const answer = await fetch(`${app.base}/files/${id}/content`, { headers: ALICE });
    expect((await send(app.base, `/files/${id}`, 'DELETE')).status).toBe(200);
    expect((await answer.text()).length).toBe(text.length);
    expect((await content(id)).status).toBe(404);
  });

  it('[X-14] that is not read to its end leaves nothing open', async () => {
    const id = await uploaded('x'.repeat(20_000_000));
    const leaving = new AbortController();
    const answer = await fetch(`${app.base}/files/${id}/content`, { headers: ALICE, signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    expect((await content(id)).text).toHaveLength(20_000_000);
    await until(() => openBelow(app.folder) === 0);
  });
});

describe('another tenant', () => {
  beforeEach(async () => {
    app = await startFilesApp();
  });

  it('[X-14] is answered on every path as if there were no such file', async () => {
    const id = await uploaded();
    const unknown = `file-${'0'.repeat(32)}`;
    const answersFor = async (path: string) => {
      const answers = [
        await send(app.base, `/files/${path}`, 'GET', BOB),
        await send(app.base, `/files/${path}/content`, 'GET', BOB),
        await send(app.base, `/files/${path}`, 'DELETE', BOB),
        await send(app.base, `/files?after=${path}`, 'GET', BOB),
      ];
      return JSON.parse(JSON.stringify(answers).replaceAll(path, '<id>'));
    };
    const answers = await answersFor(id);
    expect(answers).toEqual(await answersFor(unknown));
    expect(answers.map(({ status }: { status: number }) => status)).toEqual([404, 404, 404, 404]);
    expect((await send(app.base, '/files', 'GET', BOB)).json.data).toEqual([]);
    expect((await content(id)).text).toBe(DIGITS);
  });

  it.each(['..%2f..%2fetc%2fpasswd', '%00', 'file-x', 'x'.repeat(5000), 'file-%E0%A4', '*'])(
    '[X-14] finds no file %.40s',
    async (id) => {
      const { status, json } = await send(app.base, `/files/${id}/content`);
      expect([status, json.error.type]).toEqual([id.includes('%E0') ? 400 : 404, 'invalid_request_error']);
    },
  );

  it('[X-14] that cannot be distinguished from others keeps nothing, and finds nothing', async () => {
    const id = await uploaded();
    const cookie = { cookie: 'session=1', authorization: '' };
    const { status, json } = await post(app.base, [filePart('x'), PURPOSE], cookie);
    expect([status, json.error.code]).toEqual([400, 'tenant_unknown']);
    expect((await send(app.base, `/files/${id}`, 'GET', cookie)).status).toBe(404);
    expect((await send(app.base, '/files', 'GET', cookie)).json.data).toEqual([]);
  });
});

describe('a list of files', () => {
  it('[X-14] refuses parameters that it cannot read', async () => {
    app = await startFilesApp();
    const codes = [];
    for (const query of ['limit=0', 'limit=10001', 'limit=x', 'order=up', 'after=a&after=b', 'purpose=a&purpose=b'])
      codes.push((await send(app.base, `/files?${query}`)).json.error.code);
    expect(codes).toEqual(Array(6).fill('invalid_value'));
  });

  it('[X-14] ends with the last page', async () => {
    app = await startFilesApp();
    for (const text of ['a', 'b', 'c']) await uploaded(text);
    const first = await send(app.base, '/files?limit=2&order=asc');
    expect([first.json.data.length, first.json.has_more]).toEqual([2, true]);
    const last = await send(app.base, `/files?limit=2&order=asc&after=${first.json.last_id}`);
    expect([last.json.data.length, last.json.has_more, last.json.first_id === last.json.last_id]).toEqual([
      1,
      false,
      true,
    ]);
  });
});

describe('a file that has expired', () => {
  it('[X-14] is found on no path', async () => {
    let added = 0;
    const files: FileStore = memoryFiles({ now: () => Date.now() + added });
    app = await startFilesApp({ files });
    const expiry = [
      { name: 'expires_after[anchor]', value: 'created_at' },
      { name: 'expires_after[seconds]', value: '3600' },
    ];
    const { id } = (await post(app.base, [filePart('x'), PURPOSE, ...expiry])).json;
    expect((await content(id)).text).toBe('x');
    added = 3_600_001;
    const statuses = [
      (await content(id)).status,
      (await send(app.base, `/files/${id}`)).status,
      (await send(app.base, `/files/${id}`, 'DELETE')).status,
    ];
    expect([statuses, (await send(app.base, '/files')).json.data]).toEqual([[404, 404, 404], []]);
  });
});
