/** The index of vector stores in memory: the contract, and its limits. */
import { memoryVectors } from '../../../src/stores/memory/memory-vectors.ts';
import { vectorIndexContract } from '../../../src/testing/index.ts';
import { claimNext, fillStore, makeFile, makeStore, vector } from '../../../src/testing/vectors/vector-case.ts';

vectorIndexContract({ it, describe, create: ({ clock }) => ({ index: memoryVectors({ now: clock.now }) }) });

describe('memoryVectors', () => {
  it('[X-14] refuses what finds no room, and has room again for what was deleted', async () => {
    const index = memoryVectors({ maxStores: 1, maxFiles: 2, maxChunks: 2, maxBytes: 20 });
    const store = makeStore();
    const [one, two, three] = [makeFile(store), makeFile(store), makeFile(store)];
    await fillStore(index, store, [one]);
    const chunk = { text: 'ab', embedding: vector(1, 2) };
    const claim = await claimNext(index);
    expect(() => index.putStore(makeStore(), 'create')).toThrow('maxStores is 1');
    expect(() => index.addFiles(store, [two, three])).toThrow('maxFiles is 2');
    expect(() => index.addChunks(claim, 0, [chunk, chunk, chunk])).toThrow('maxChunks is 2');
    expect(() => index.addChunks(claim, 0, [{ ...chunk, text: 'x'.repeat(13) }])).toThrow('maxBytes is 20');
    expect(index.addChunks(claim, 0, [chunk, chunk])).toBe(true);
    index.deleteFile(one);
    expect(index.addFiles(store, [two, three])).toBe(true);
    index.deleteStore(store);
    expect(index.putStore(makeStore(), 'create')).toBe(true);
  });

  it('[X-14] has room again for the chunks of what has expired', async () => {
    let time = 2000;
    const index = memoryVectors({ maxChunks: 1, now: () => time });
    const [old, store] = [makeStore({ expiresAfterMs: 60_000 }), makeStore()];
    await fillStore(index, old, [makeFile(old)]);
    await fillStore(index, store, [makeFile(store)]);
    const chunk = { text: 'ab', embedding: vector(1, 2) };
    const [first, second] = [await claimNext(index), await claimNext(index)];
    expect(index.addChunks(first, 0, [chunk])).toBe(true);
    expect(() => index.addChunks(second, 0, [chunk])).toThrow('maxChunks is 1');
    time += 60_000;
    expect(index.addChunks(second, 0, [chunk])).toBe(true);
    expect(index.endClaim(first, { status: 'completed' })).toBe(false);
  });

  it('[X-14] refuses options that it does not know', () => {
    expect(() => memoryVectors({ maxFiles: 0 })).toThrow('memoryVectors: maxFiles must be a positive whole number');
  });
});
