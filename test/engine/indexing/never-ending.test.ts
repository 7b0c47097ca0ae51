/** Embedders and readers of the host's own that never answer, and ignore their signal. */
import { jest } from '@jest/globals';
import { searchTerms } from '../../../src/engine/indexing/search-terms.ts';
import { memoryFiles } from '../../../src/stores/memory/memory-files.ts';
import { memoryVectors } from '../../../src/stores/memory/memory-vectors.ts';
import { putFile } from '../../../src/testing/files/file-case.ts';
import { fillStore, makeFile, makeStore } from '../../../src/testing/vectors/vector-case.ts';
import { createVectorStores, type VectorStoresOptions } from '../../../src/vector-stores.ts';

/** Vector stores with one file to index. Resolves once the function that never answers is called. */
async function waiting(part: 'embeddings' | 'documents') {
  const [index, files, store] = [memoryVectors(), memoryFiles(), makeStore()];
  const { id } = await putFile(files, Buffer.from('Cats purr.'), { scope: store.scope });
  await fillStore(index, store, [makeFile(store, { id })]);
  let call = () => {};
  let count = 0;
  const called = new Promise<void>((resolve) => {
    call = resolve;
  });
  const never = () => {
    count += 1;
    call();
    return new Promise<never>(() => {});
  };
  const parts: Pick<VectorStoresOptions, 'embeddings' | 'documents'> = {
    embeddings: { name: 'own', embed: never },
    ...(part === 'documents' ? { documents: { name: 'own', read: never } } : {}),
  };
  const vectorStores = createVectorStores({ files, index, ...parts, logger: false });
  await called;
  return { vectorStores, store, calls: () => count };
}

describe('vector stores', () => {
  it.each(['embeddings', 'documents'] as const)('[X-14] are closed although %s never answer', async (part) => {
    const { vectorStores } = await waiting(part);
    await expect(vectorStores.close()).resolves.toBeUndefined();
  });

  it.each(['embeddings', 'documents'] as const)('[X-14] try a file again after 15 minutes without %s', async (part) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const started = waiting(part);
    await jest.advanceTimersByTimeAsync(1000);
    const { vectorStores, calls } = await started;
    const before = calls();
    await jest.advanceTimersByTimeAsync(17 * 60_000);
    const after = calls();
    jest.useRealTimers();
    await vectorStores.close();
    expect([before, after]).toEqual([1, 2]);
  });

  it('[X-14] end a search whose client leaves, although the embedder never answers', async () => {
    const { vectorStores, store } = await waiting('embeddings');
    const client = new AbortController();
    const search = { scope: store.scope, stores: [store.id], queries: ['cats'], terms: searchTerms({}), limit: 5 };
    const found = vectorStores.search(search, client.signal);
    client.abort(new Error('The client has left.'));
    await expect(found).rejects.toThrow('The client has left.');
    await vectorStores.close();
  });
});
