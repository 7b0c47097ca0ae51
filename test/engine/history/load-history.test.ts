/** How many long histories are loaded at the same time, and who shares a load. */

import { loadChain, loadItems } from '../../../src/engine/history/load-chain.ts';
import { memoryStore } from '../../../src/index.ts';
import type { ResponseStore, StoredResponse } from '../../../src/ports/store.ts';
import { leastBytes } from '../../../src/protocol/json/json-size.ts';

const MIB = 1024 * 1024;
const TEXT = 'x'.repeat(2 * MIB);

/** A memory store that answers later, and how many long reads it was asked for: at all, and at most at a time. */
function slowStore() {
  const store = memoryStore();
  const seen = { reads: 0, atOnce: 0, most: 0 };
  async function late<Value>(maxBytes: number | undefined, read: () => Value): Promise<Value> {
    if ((maxBytes ?? Number.POSITIVE_INFINITY) <= MIB) return read();
    seen.reads += 1;
    seen.atOnce += 1;
    seen.most = Math.max(seen.most, seen.atOnce);
    await new Promise(setImmediate);
    seen.atOnce -= 1;
    return read();
  }
  const slow: ResponseStore = {
    ...store,
    chain: (key, limit, maxBytes) => late(maxBytes, () => store.chain(key, limit, maxBytes)),
    conversations: {
      ...store.conversations,
      items: (key, maxBytes) => late(maxBytes, () => store.conversations.items(key, maxBytes)),
    },
  };
  return { store, slow, seen };
}

function long(id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  return { scope: 's', id, createdAt: 0, input: [], output: [], resource: { text: TEXT }, ...more };
}

describe('loadChain', () => {
  it('[F-05] reads a long chain once for all that continue it at the same time', async () => {
    const { store, slow, seen } = slowStore();
    store.put(long('a'));
    const chains = await Promise.all(Array.from({ length: 12 }, () => loadChain(slow, long('a'), 10, 32 * MIB)));
    await loadChain(slow, long('a'), 10, 32 * MIB);
    expect([chains.map(({ length }) => length), seen.reads]).toEqual([Array(12).fill(1), 2]);
  });

  it('[F-05] reads at most three long chains of one tenant at a time, and all of them', async () => {
    const { store, slow, seen } = slowStore();
    const ids = Array.from({ length: 20 }, (_, index) => `resp_${index}`);
    for (const id of ids) store.put(long(id));
    const chains = await Promise.all(ids.map((id) => loadChain(slow, { scope: 's', id }, 10, 32 * MIB)));
    expect([chains.map(([first]) => first?.id), seen.reads, seen.most]).toEqual([ids, 20, 3]);
  });

  it('[F-05] reads a long chain in one round trip while few are loaded', async () => {
    const store = memoryStore();
    store.put(long('a'));
    const bounds: unknown[] = [];
    const counted: ResponseStore = {
      ...store,
      chain: (key, limit, maxBytes) => {
        bounds.push(maxBytes);
        return store.chain(key, limit, maxBytes);
      },
    };
    await loadChain(counted, long('a'), 10, 32 * MIB);
    expect(bounds).toEqual([32 * MIB]);
  });

  it('[F-05] does not let a short chain wait for the long ones of its tenant', async () => {
    const { store, slow, seen } = slowStore();
    const ids = ['a', 'b', 'c', 'd'];
    for (const id of ids) store.put(long(id));
    store.put(long('short', { resource: {} }));
    const longLoads = ids.map((id) => loadChain(slow, long(id), 10, 32 * MIB));
    const short = await loadChain(slow, { scope: 's', id: 'short' }, 10, 32 * MIB);
    expect([short.length, seen.atOnce]).toEqual([1, 3]);
    await Promise.all(longLoads);
  });

  it('[F-05] lets nobody who waits hang where a load fails', async () => {
    const { slow, seen } = slowStore();
    const failing: ResponseStore = {
      ...slow,
      chain: async (key, limit, maxBytes) => {
        await slow.chain?.(key, limit, 2 * MIB);
        if (maxBytes === MIB) return [long('a'), long('a')];
        throw new Error('down');
      },
    };
    const loads = Array.from({ length: 10 }, (_, index) => loadChain(failing, long(`${index}`), 10, 32 * MIB));
    const ends = await Promise.allSettled(loads);
    expect([ends.map(({ status }) => status), seen.most <= 10]).toEqual([Array(10).fill('rejected'), true]);
  });

  it('[F-05] no longer informs those who share a load that a response runs which has ended', async () => {
    const { store, slow } = slowStore();
    store.put(long('a', { resource: { text: TEXT, status: 'in_progress' } }));
    let isFirst = true;
    const ending: ResponseStore = {
      ...slow,
      async chain(key, limit, maxBytes) {
        const found = await slow.chain?.(key, limit, maxBytes);
        if (isFirst) store.put(long('a', { resource: { text: TEXT, status: 'completed' } }));
        isFirst = false;
        return found ?? [];
      },
    };
    const [, second] = await Promise.all([1, 2].map(() => loadChain(ending, long('a'), 10, 32 * MIB)));
    expect(second?.[0]?.resource.status).toBe('completed');
  });

  it('[F-05] finds a response for those who share a load that began before it was stored', async () => {
    const { store, slow } = slowStore();
    const storing: ResponseStore = {
      ...slow,
      async chain(key, limit, maxBytes) {
        const found = await slow.chain?.(key, limit, maxBytes);
        store.put(long('a'));
        return found ?? [];
      },
    };
    const chains = await Promise.all([1, 2].map(() => loadChain(storing, long('a'), 10, 32 * MIB)));
    expect(chains.map(({ length }) => length)).toEqual([0, 1]);
  });

  it.each([['with a chain'], ['without one']])(
    '[F-05] measures what a store %s gives that knows no bound',
    async (kind) => {
      const { get, put, delete: remove, chain, name } = memoryStore();
      for (const [id, previousId] of [['a'], ['b', 'a']] as const) put(long(id, previousId ? { previousId } : {}));
      const unbounded: ResponseStore = { name, get, put, delete: remove };
      const store =
        kind === 'with a chain'
          ? { ...unbounded, chain: (key: StoredResponse, limit: number) => chain(key, limit) }
          : unbounded;
      await expect(loadChain(store as ResponseStore, long('b'), 10, 3 * MIB)).rejects.toMatchObject({
        name: 'StoreError',
        code: 'too_many_bytes',
      });
      expect((await loadChain(store as ResponseStore, long('b'), 10, 5 * MIB)).length).toBe(2);
    },
  );
});

describe('loadItems', () => {
  it('[F-05] reads at most three long conversations of one tenant at a time', async () => {
    const { store, slow, seen } = slowStore();
    const keys = Array.from({ length: 10 }, (_, index) => ({ scope: 's', id: `conv_${index}` }));
    for (const key of keys) {
      store.conversations.put({ ...key, createdAt: 0, metadata: {} });
      store.conversations.append(key, [{ type: 'message', text: TEXT }]);
    }
    const { conversations } = slow;
    if (!conversations) throw new Error('The memory store has conversations.');
    const loaded = await Promise.all(keys.map((key) => loadItems(conversations, key, 32 * MIB)));
    expect([loaded.map(({ length }) => length), seen.most]).toEqual([Array(10).fill(1), 3]);
  });
});

describe('leastBytes', () => {
  it.each([
    ['a', 3],
    ['', 2],
    [{}, 2],
    [[], 2],
    [{ a: 1 }, 7],
    [{ a: 'b', c: undefined, d: [1, 2] }, 19],
    [[['a'], { b: null }], 15],
  ])('[F-05] of %j is no more than its JSON takes', (value, expected) => {
    const bytes = leastBytes(value);
    expect([bytes, bytes <= JSON.stringify(value).length]).toEqual([expected, true]);
  });
});
