/** Files on a disk: what a crash leaves over, several processes, and disks that fail. */
import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diskFiles } from '../../../src/files.ts';
import { listFileIds, makeUpload, putFile, readContent } from '../../../src/testing/files/file-case.ts';
import { freshScope } from '../../../src/testing/stores/store-case.ts';
import { bytesBelow, diskFolder, filesBelow } from './disk-folder.ts';

let folder: string;
let remove: () => void;

beforeEach(() => {
  ({ folder, remove } = diskFolder());
});

afterEach(() => remove());

describe('diskFiles', () => {
  it('[X-14] removes the drafts of a crash after staleMs without a change', async () => {
    let added = 0;
    const files = diskFiles({ folder, now: () => Date.now() + added });
    const draft = join(folder, 'drafts', 'left-over');
    mkdirSync(draft, { recursive: true });
    writeFileSync(join(draft, 'content'), 'half');
    const file = await putFile(files, Buffer.from('whole'));
    expect(bytesBelow(draft)).toBe(4);
    added = 2 * 60 * 60 * 1000;
    await putFile(files, Buffer.from('next'), { scope: file.scope });
    expect(filesBelow(folder).filter((path) => path.includes('drafts'))).toEqual([]);
    expect(String(await readContent(files, file))).toBe('whole');
  });

  it('[X-14] leaves an upload of another process alone while it grows', async () => {
    const draft = join(folder, 'drafts', 'growing');
    mkdirSync(draft, { recursive: true });
    writeFileSync(join(draft, 'content'), 'half');
    const longAgo = new Date(Date.now() - 10 * 60 * 60 * 1000);
    utimesSync(draft, longAgo, longAgo);
    await putFile(diskFiles({ folder }), Buffer.from('x'));
    expect(bytesBelow(draft)).toBe(4);
  });

  it('[X-14] shows the files of one process to another', async () => {
    const [one, other] = [diskFiles({ folder }), diskFiles({ folder })];
    const file = await putFile(one, Buffer.from('Hello'));
    expect([await listFileIds(other, file.scope), String(await readContent(other, file))]).toEqual([
      [file.id],
      'Hello',
    ]);
    expect(await other.delete(file)).toBe(true);
    expect([await one.get(file), await listFileIds(one, file.scope)]).toEqual([undefined, []]);
  });

  it('[X-14] lets nobody else on the machine read them', async () => {
    await putFile(diskFiles({ folder }), Buffer.from('secret'));
    for (const path of filesBelow(folder)) expect(statSync(path).mode & 0o077).toBe(0);
  });

  it('[X-14] names nothing after a client’s text', async () => {
    const scope = `../${freshScope()}`;
    await putFile(diskFiles({ folder }), Buffer.from('x'), { scope, id: '../../../x' });
    expect(filesBelow(folder)).toHaveLength(2);
  });

  it('[X-14] leaves nothing of a deleted file that would have expired later', async () => {
    const files = diskFiles({ folder });
    const file = await putFile(files, Buffer.from('x'), { expiresAt: Date.now() + 60 * 60 * 1000 });
    expect(await files.delete(file)).toBe(true);
    expect(filesBelow(folder)).toEqual([]);
  });

  it('[X-14] ignores marks of expiry that it did not write', async () => {
    const files = diskFiles({ folder });
    mkdirSync(join(folder, 'expiring'));
    writeFileSync(join(folder, 'expiring', '1-..-..'), '');
    const file = await putFile(files, Buffer.from('x'));
    expect(String(await readContent(files, file))).toBe('x');
  });

  it('[X-14] fails where there can be no folder', async () => {
    writeFileSync(join(folder, 'taken'), '');
    const files = diskFiles({ folder: join(folder, 'taken') });
    await expect(files.put(makeUpload([]))).rejects.toThrow('ENOTDIR');
  });
});
