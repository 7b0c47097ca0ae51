/** What a store throws where it keeps to what it was asked, and what becomes of it. */
import { loadChain } from '../../src/engine/history/load-chain.ts';
import { fromIndex } from '../../src/engine/indexing/from-index.ts';
import { StoreError as FilesError } from '../../src/files.ts';
import { memoryStore, StoreError } from '../../src/index.ts';
import { fromFiles } from '../../src/ports/files/file-store.ts';
import { isStoreError } from '../../src/ports/store-error.ts';
import { StoreError as VectorsError } from '../../src/vector-stores.ts';

describe('StoreError', () => {
  it('is one class for stores of every kind', () => {
    expect([FilesError, VectorsError]).toEqual([StoreError, StoreError]);
  });

  it('has a code, and the cause', () => {
    const cause = new Error('no key');
    const error = new StoreError('unreadable_log', 'The log cannot be read.', { cause });
    expect([error.name, error.code, error.message, error.cause]).toEqual([
      'StoreError',
      'unreadable_log',
      'The log cannot be read.',
      cause,
    ]);
  });

  it('is a TypeError for a code that there is not', () => {
    // The cast: what a host without types might pass.
    expect(() => new StoreError('full' as never, 'It is full.')).toThrow(
      "StoreError: code must be one of 'too_many_bytes', 'unreadable_log', 'file_quota_exceeded', 'dimension_mismatch', got 'full'",
    );
  });

  it('is known by its code, also where another copy of the package made it', () => {
    const foreign = Object.assign(new Error('Too much.'), { name: 'StoreError', code: 'too_many_bytes' });
    const errors = [
      foreign,
      new StoreError('unreadable_log', ''),
      Object.assign(new Error(), foreign, { name: 'Error' }),
      foreign.code,
    ];
    expect(errors.map((error) => isStoreError(error, 'too_many_bytes'))).toEqual([true, false, false, false]);
  });
});

describe('a store of the host’s own', () => {
  const refusing = (code: StoreError['code']) => () => {
    throw new StoreError(code, 'Table secret_7 is full.');
  };

  it('refuses a chain that is too long', async () => {
    const store = { ...memoryStore(), chain: refusing('too_many_bytes') };
    await expect(loadChain(store, { scope: 's', id: 'resp_1' }, 10, 1000)).rejects.toMatchObject({
      code: 'too_many_bytes',
    });
  });

  it('refuses a file for the quota of this upload, and the client does not read its message', async () => {
    const quota = { files: 2, bytes: 100 };
    await expect(fromFiles(refusing('file_quota_exceeded'), { quota })).rejects.toMatchObject({
      code: 'file_quota_exceeded',
      status: 400,
      message:
        'Your files exceed what this server keeps for you: at most 2 files of 100 bytes together. Delete some first.',
    });
  });

  it('has failed where it throws what nobody asked it for', async () => {
    const unasked = await Promise.allSettled([
      fromFiles(refusing('file_quota_exceeded')),
      fromFiles(refusing('too_many_bytes'), { quota: { files: 1, bytes: 1 } }),
      fromIndex(refusing('too_many_bytes')),
    ]);
    expect(unasked).toMatchObject(Array(3).fill({ reason: { code: 'store_error' } }));
  });
});
