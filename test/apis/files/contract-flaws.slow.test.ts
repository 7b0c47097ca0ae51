/** The contract of file stores fails those that break it, each in the cases that are about it. */
import type { FileStore } from '../../../src/ports/files/file-store.ts';
import { memoryFiles } from '../../../src/stores/memory/memory-files.ts';
import { fileStoreContract } from '../../../src/testing/index.ts';

type Flaw = (files: FileStore) => Partial<FileStore>;

/** The names of the cases that a store with the flaw fails, of those whose name has the words. */
async function failures(flaw: Flaw, words: string): Promise<readonly string[]> {
  const failed: string[] = [];
  const cases: (() => Promise<void>)[] = [];
  fileStoreContract({
    it: (name, run) => name.includes(words) && cases.push(() => run().catch(() => void failed.push(name))),
    create({ clock }) {
      const whole = memoryFiles({ now: clock.now });
      const own = ['put', 'get', 'read', 'list', 'delete', 'usage'] as const;
      const methods = Object.fromEntries(own.map((name) => [name, (whole[name] as () => unknown).bind(whole)]));
      // The cast: these are all of its methods.
      const files = { name: 'flawed', ...methods } as unknown as FileStore;
      return { files: { ...files, ...flaw(files) } };
    },
  });
  for (const run of cases) await run();
  return failed;
}

async function* without(content: AsyncIterable<Uint8Array>, wanted: (index: number) => boolean) {
  let index = 0;
  for await (const piece of content) if (wanted(index++)) yield piece;
}

async function* untilItBreaks(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* content;
  } catch {
    // Taken for the end.
  }
}

/** All tenants share one. */
const sharing: Flaw = (files) => ({
  put: (upload) => files.put({ ...upload, scope: 'all' }),
  get: ({ id }) => files.get({ scope: 'all', id }),
  read: ({ id }, range) => files.read({ scope: 'all', id }, range),
  delete: ({ id }) => files.delete({ scope: 'all', id }),
  list: (_, query) => files.list('all', query),
  usage: () => files.usage('all'),
});

const FLAWS: readonly (readonly [what: string, flaw: Flaw, about: string])[] = [
  [
    'loses a piece',
    (files) => ({ put: (upload) => files.put({ ...upload, content: without(upload.content, (at) => at !== 5) }) }),
    'keeps every byte',
  ],
  [
    'keeps what came before an upload broke off',
    (files) => ({ put: (upload) => files.put({ ...upload, content: untilItBreaks(upload.content) }) }),
    'leaves nothing of an upload that breaks off',
  ],
  [
    'requests the details first',
    (files) => ({
      put(upload) {
        const details = upload.details();
        return files.put({ ...upload, details: () => details });
      },
    }),
    'after the last byte',
  ],
  [
    'knows no quota',
    (files) => ({ put: ({ quota: _, ...upload }) => files.put(upload) }),
    'never lets a tenant have more',
  ],
  [
    'checks the quota only before the upload',
    (files) => ({
      async put({ quota, ...upload }) {
        const used = await files.usage(upload.scope);
        if (quota && used.files >= quota.files) throw Object.assign(new Error('full'), { code: 'file_quota_exceeded' });
        return files.put(upload);
      },
    }),
    'never lets a tenant have more',
  ],
  ['ignores ranges', (files) => ({ read: (key) => files.read(key) }), 'reads any range'],
  [
    'ends ranges with their last byte',
    (files) => ({ read: (key, range) => files.read(key, range && { ...range, end: range.end + 1 }) }),
    'reads any range',
  ],
  [
    'deletes twice',
    (files) => ({
      async delete(key) {
        const found = await files.get(key);
        await files.delete(key);
        return found !== undefined;
      },
    }),
    'deletes a file once',
  ],
  [
    'only claims to delete',
    (files) => ({ delete: async (key) => (await files.get(key)) !== undefined }),
    'deletes a file once',
  ],
  [
    'lists in one order only',
    (files) => ({ list: (scope, query) => files.list(scope, { ...query, order: 'asc' }) }),
    'by creation time',
  ],
  [
    'never reports that others follow',
    (files) => ({ list: async (scope, query) => ({ ...(await files.list(scope, query)), hasMore: false }) }),
    'by creation time',
  ],
  [
    'begins again after an unknown file',
    (files) => ({
      async list(scope, { after, ...query }) {
        const page = await files.list(scope, { ...query, after });
        return page.unknown ? files.list(scope, query) : page;
      },
    }),
    'after an unknown file',
  ],
  [
    'lists every purpose',
    (files) => ({ list: (scope, { purpose: _, ...query }) => files.list(scope, query) }),
    'of one purpose',
  ],
  [
    'lets nothing expire',
    (files) => ({
      put: (upload) =>
        files.put({ ...upload, details: () => ({ ...upload.details(), expiresAt: Number.POSITIVE_INFINITY }) }),
    }),
    'that has expired',
  ],
  [
    'cuts names to what is fit for a path',
    (files) => ({
      put: (upload) => files.put({ ...upload, details: () => ({ ...upload.details(), filename: 'x.pdf' }) }),
    }),
    'describes a file',
  ],
  ['shares files between tenants', sharing, 'of the same id apart by tenant'],
  [
    'takes tenants that look alike for one',
    (files) => ({
      put: (upload) => files.put({ ...upload, scope: upload.scope.normalize('NFC') }),
      get: ({ scope, id }) => files.get({ scope: scope.normalize('NFC'), id }),
      read: ({ scope, id }, range) => files.read({ scope: scope.normalize('NFC'), id }, range),
    }),
    'only look alike',
  ],
];

describe('the contract of file stores', () => {
  it('[X-14] passes a store that keeps it', async () => {
    expect(await failures(() => ({}), '')).toEqual([]);
  });

  it.each(FLAWS)('[X-14] fails a store that %s', async (_, flaw, about) => {
    expect(await failures(flaw, about)).toEqual([expect.stringContaining(about)]);
  });
});
