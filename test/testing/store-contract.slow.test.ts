/** The store contract itself: a store with any one of these flaws does not pass, and one without `chain` does. */

import {
  type ConversationStore,
  type ResponseKey,
  type ResponseStore,
  readChain,
  type StoredResponse,
} from '../../src/ports/store.ts';
import type { Item } from '../../src/protocol/items.ts';
import { memoryStore } from '../../src/stores/memory/memory-store.ts';
import { type StoreContractOptions, storeContract } from '../../src/testing/index.ts';
import { stoppedClock } from '../stores/stored.ts';
import { EVENT_FLAWS } from './flawed-event-logs.ts';

type Flaw = (store: ResponseStore) => Partial<ResponseStore>;

/** The names of the cases that the store fails. */
async function failures(flaw: Flaw, alter = (options: StoreContractOptions) => options): Promise<readonly string[]> {
  const failed: string[] = [];
  const cases: (() => Promise<void>)[] = [];
  storeContract({
    it: (name, run) => cases.push(() => run().catch(() => void failed.push(name))),
    create(options) {
      const clock = stoppedClock();
      const store = memoryStore({ ...alter(options), now: clock.now });
      return { store: { ...store, ...flaw(store) }, clock };
    },
  });
  for (const run of cases) await run();
  return failed;
}

/** Keeps every response under another key than the one it was put with. */
function spells(spell: (key: ResponseKey) => ResponseKey): Flaw {
  return (store) => ({
    async get(key) {
      const found = await store.get(spell(key));
      // The cast: `put` wrote it so.
      return found && (found.resource.asPut as StoredResponse);
    },
    put: (response) => store.put({ ...response, ...spell(response), resource: { asPut: response } }),
    delete: (key) => store.delete(spell(key)),
    chain: (key, limit) => store.chain?.(spell(key), limit) ?? [],
  });
}

/** Keeps what a careless encoding leaves of the JSON. */
function loses(lost: RegExp | string): Flaw {
  return (store) => ({ put: (response) => store.put(JSON.parse(JSON.stringify(response).replaceAll(lost, ''))) });
}

/** Gives what the function makes of the chain, which it may ask for with any limit. */
function chains(
  chain: (
    find: (limit: number) => Promise<readonly StoredResponse[]>,
    limit: number,
  ) => Promise<readonly StoredResponse[]>,
): Flaw {
  return (store) => ({ chain: (key, limit) => chain((requested) => readChain(store, key, requested), limit) });
}

/** Keeps and gives the very objects, as a plain Map would. */
function byReference(): Partial<ResponseStore> {
  const kept = new Map<string, StoredResponse>();
  return { put: (response) => void kept.set(response.id, response), get: ({ id }) => kept.get(id) };
}

/** Keeps a copy, and gives the same one to all readers. */
function oneCopyForAll(): Partial<ResponseStore> {
  const { put = () => {}, get = () => undefined } = byReference();
  return { put: (response) => put(JSON.parse(JSON.stringify(response))), get };
}

/** Writes the output of the first put beside the rest of the last. */
function mixesPuts(store: ResponseStore): Partial<ResponseStore> {
  const outputs = new Map<string, StoredResponse['output']>();
  return {
    put(response) {
      outputs.set(response.scope, outputs.get(response.scope) ?? response.output);
      return store.put({ ...response, output: outputs.get(response.scope) ?? [] });
    },
  };
}

function closesOnce(): Partial<ResponseStore> {
  let closed = false;
  return {
    async close() {
      if (closed) throw new Error('closed already');
      closed = true;
    },
  };
}

/** Follows links from scope to scope. */
function linksAcrossScopes(store: ResponseStore): Partial<ResponseStore> {
  const all = new Map<string, StoredResponse>();
  return {
    async put(response) {
      all.set(response.id, response);
      await store.put(response);
    },
    async chain(key, limit) {
      const own = await readChain(store, key, limit);
      const next = all.get(own.at(-1)?.previousId ?? '');
      return next && own.length < limit ? [...own, next] : own;
    },
  };
}

const FLAWS: readonly (readonly [flaw: string, failing: string, make: Flaw])[] = [
  [
    'replaces whatever the version',
    '[F-10] replaces a response with the expected version, and refuses any other',
    (store) => ({
      async replace(response) {
        const found = await store.get(response);
        if (found) await store.put(response);
        return found !== undefined;
      },
    }),
  ],
  [
    'looks and then replaces',
    '[F-10] lets one of ten concurrent replacements of one version succeed',
    (store) => ({
      async replace(response, version) {
        const found = await store.get(response);
        if ((found?.version ?? 0) !== version || !found) return false;
        await store.put(response);
        return true;
      },
    }),
  ],
  [
    'makes what it replaces',
    '[F-10] creates no response that was never put, or was deleted',
    (store) => ({
      async replace(response, version) {
        const found = await store.get(response);
        if (found && (found.version ?? 0) !== version) return false;
        await store.put(response);
        return true;
      },
    }),
  ],
  [
    'puts after it reported the end',
    '[P-12] finds a response as soon as it is put',
    (store) => ({ put: (response) => void setImmediate(() => store.put(response)) }),
  ],
  [
    'looks ids up in an object',
    'returns undefined for an id that was never put, however odd',
    (store) => ({ get: async (key) => (await store.get(key)) ?? ({} as Record<string, never>)[key.id] }),
  ],
  [
    'keeps the first of two puts',
    'lets a second put replace the first',
    (store) => ({ put: async (response) => void ((await store.get(response)) ?? (await store.put(response))) }),
  ],
  [
    'always says that it deleted',
    'returns true for a delete, and false when nothing is left to delete',
    (store) => ({ delete: async (key) => (await store.delete(key)) || true }),
  ],
  [
    'deletes nothing',
    'ends a chain where an ancestor was deleted, and lets the rest be continued',
    (store) => ({ delete: async (key) => (await store.get(key)) !== undefined }),
  ],
  [
    'loses one of many puts',
    '[P-12] keeps all of 100 responses that are put at the same time',
    (store) => ({ put: (response) => (response.id === 'resp_57' ? undefined : store.put(response)) }),
  ],
  ['mixes two puts of one id', 'keeps one whole response if several are put under one id at the same time', mixesPuts],
  [
    'drops the output of a long turn',
    '[P-12] keeps a turn of 5 MB',
    (store) => ({
      put: (response) =>
        store.put(JSON.stringify(response).length > 4_000_000 ? { ...response, output: [] } : response),
    }),
  ],
  ['drops NUL', 'keeps text of every script, NUL characters and half surrogate pairs included', loses('\\u0000')],
  [
    'drops half pairs',
    'keeps text of every script, NUL characters and half surrogate pairs included',
    loses('\\ud83d'),
  ],
  [
    'drops nulls',
    'keeps item types and fields that it does not know, nulls and empty values included',
    loses('"id":null,'),
  ],
  ['sets the prototype', 'keeps metadata keys named __proto__ and constructor', loses('"__proto__":"a",')],
  ['keeps no copy', 'shows no later edit of what was put', byReference],
  ['gives no copy', 'shows no edit of what an earlier reader got', oneCopyForAll],
  ['closes once', 'can be closed twice', closesOnce],
  ['has no scopes', '[P-13] does not get another scope’s response', spells(({ id }) => ({ scope: '', id }))],
  [
    'has no scopes',
    '[P-13] does not replace another scope’s response of the same id',
    spells(({ id }) => ({ scope: '', id })),
  ],
  ['has no scopes', '[P-13] does not delete another scope’s response', spells(({ id }) => ({ scope: '', id }))],
  [
    'takes an empty id for another',
    '[P-13] keeps responses under odd scopes and ids, and finds them in a chain',
    spells(({ scope, id }) => ({ scope, id: id || ' ' })),
  ],
  [
    'links across scopes',
    '[P-13] returns no chain of another scope’s response, and ends a chain before one',
    linksAcrossScopes,
  ],
  [
    'joins scope and id by a colon',
    '[P-13] keeps scopes and ids apart whatever separators they contain',
    spells(({ scope, id }) => ({ scope: '', id: `${scope}:${id}` })),
  ],
  [
    'joins scope and id by NUL',
    '[P-13] keeps scopes and ids apart whatever separators they contain',
    spells(({ scope, id }) => ({ scope: '', id: `${scope}\u0000${id}` })),
  ],
  [
    'finds by pattern',
    '[P-13] treats wildcards in ids and scopes as plain characters',
    spells(({ scope, id }) => ({ scope, id: id.replace(/[-_.?]/g, '-') })),
  ],
  [
    'ignores case',
    '[P-13] keeps ids and scopes apart if they only look alike',
    spells(({ scope, id }) => ({ scope, id: id.toLowerCase() })),
  ],
  [
    'normalises scopes',
    '[P-13] keeps ids and scopes apart if they only look alike',
    spells(({ scope, id }) => ({ scope: scope.normalize(), id })),
  ],
  [
    'gives chains oldest first',
    'returns a response and its ancestors whole, newest first',
    chains(async (find, limit) => (await find(limit)).toReversed()),
  ],
  ['ignores the limit', 'returns a chain of 1,000 in order, and no more than the limit', chains((find) => find(2000))],
  [
    'gives the oldest where the limit cuts',
    'returns a chain of 1,000 in order, and no more than the limit',
    chains(async (find, limit) => (await find(2000)).slice(-limit)),
  ],
  [
    'leaves out the response itself',
    'starts a chain at the requested response, not at the newest',
    chains(async (find, limit) => (await find(limit)).slice(1)),
  ],
  [
    'refuses a chain that is not whole',
    'ends a chain where an ancestor is missing',
    chains(async (find, limit) => ((await find(limit)).at(-1)?.previousId ? [] : find(limit))),
  ],
];

/** Appends item by item, as a list without transactions would. */
function appendsOneByOne({ append }: ConversationStore): Partial<ConversationStore> {
  return {
    async append(key, items) {
      for (const item of items) if (!(await append(key, [item]))) return false;
      return append(key, []);
    },
  };
}

/** Reads, adds and writes back, as a list kept in one row would without a lock. */
function readsAndWritesBack({ append }: ConversationStore): Partial<ConversationStore> {
  const lists = new Map<string, readonly Item[]>();
  return {
    async append(key, items) {
      const before = lists.get(key.scope) ?? [];
      const found = await append(key, []);
      if (found) lists.set(key.scope, [...before, ...items]);
      return found;
    },
    items: ({ scope }) => lists.get(scope) ?? [],
  };
}

/** Keeps items under another key than the conversation, and finds them wherever they are asked for. */
function keepsItemsElsewhere(key: (key: ResponseKey) => ResponseKey): (store: ConversationStore) => ConversationStore {
  return (store) => ({
    ...store,
    async append(given, items) {
      if (!(await store.get(given))) return false;
      await store.put({ ...key(given), createdAt: 0, metadata: {} });
      return store.append(key(given), items);
    },
    items: (given) => store.items(key(given)),
    removeItem: (given, id) => store.removeItem(key(given), id),
  });
}

const CONVERSATION_FLAWS: readonly (readonly [
  flaw: string,
  failing: string,
  make: (conversations: ConversationStore) => Partial<ConversationStore>,
])[] = [
  [
    'make what is updated',
    '[F-10] creates no conversation that was never put, was deleted, or is another scope’s',
    ({ put }) => ({
      async update(conversation) {
        await put(conversation);
        return true;
      },
    }),
  ],
  [
    'give one page for all',
    '[F-05] returns every requested page, in either order',
    ({ items }) => ({ page: async (key) => ({ items: await items(key), hasMore: false }) }),
  ],
  [
    'find what was removed',
    '[F-05] finds items by their ids, however odd, and no missing ones',
    () => ({ find: (_key, ids) => ids.map((id) => ({ type: 'message', id })) }),
  ],
  [
    'make what is appended to',
    '[S-17] returns whether there is a conversation to append to, even if there is nothing to add',
    ({ append, put }) => ({
      async append({ scope, id }, items) {
        await put({ scope, id, createdAt: 0, metadata: {} });
        return append({ scope, id }, items);
      },
    }),
  ],
  [
    'always say that they appended',
    '[S-17] returns whether there is a conversation to append to, even if there is nothing to add',
    ({ append }) => ({ append: async (key, items) => (await append(key, items)) || true }),
  ],
  ['append one by one', '[S-17] neither loses nor interleaves 50 appends at the same time', appendsOneByOne],
  ['write back what they read', '[S-17] neither loses nor interleaves 50 appends at the same time', readsAndWritesBack],
  [
    'give the newest item first',
    '[S-17] keeps the order of items over many appends',
    ({ items }) => ({ items: async (key) => (await items(key)).toReversed() }),
  ],
  [
    'forget the items when metadata is replaced',
    '[S-17] replaces the metadata at a second put, and keeps the items',
    (store) => ({
      async put(conversation) {
        await store.delete(conversation);
        await store.put(conversation);
      },
    }),
  ],
  [
    'leave items behind',
    '[S-17] deletes the items with the conversation, and returns whether there was one',
    keepsItemsElsewhere(({ scope, id }) => ({ scope, id: `${id} items` })),
  ],
  [
    'have no scopes for items',
    '[P-13] keeps another scope’s conversation from every method',
    keepsItemsElsewhere(({ id }) => ({ scope: '', id })),
  ],
  [
    'remove nothing',
    '[S-17] removes the item with one id, and keeps the others in order',
    ({ items }) => ({ removeItem: async (key, id) => (await items(key)).some((item) => item.id === id) }),
  ],
  [
    'join scope and id by a colon',
    '[P-13] keeps conversations apart if their scopes and ids only look alike',
    (store) => keyed(store, ({ scope, id }) => ({ scope: '', id: `${scope}:${id}` })),
  ],
  [
    'ignore case',
    '[P-13] keeps conversations apart if their scopes and ids only look alike',
    (store) => keyed(store, ({ scope, id }) => ({ scope, id: id.toLowerCase() })),
  ],
  [
    'drop NUL',
    '[S-17] keeps items of every kind and script as they were',
    ({ append }) => ({
      append: (key, items) => append(key, JSON.parse(JSON.stringify(items).replaceAll('\\u0000', ''))),
    }),
  ],
  [
    'cut a large item',
    '[S-17] keeps an item of 1 MB',
    ({ append }) => ({
      append: (key, items) =>
        append(
          key,
          items.filter((item) => JSON.stringify(item).length < 1_000_000),
        ),
    }),
  ],
  ['keep no copy', '[S-17] shows no later edit of what was put, appended or read', keepsNoCopy],
];

/** The store with all its keys spelt in another way. */
function keyed(store: ConversationStore, spell: (key: ResponseKey) => ResponseKey): ConversationStore {
  const spellings = new Map<string, ResponseKey>();
  return {
    async get(key) {
      const found = await store.get(spell(key));
      return found && { ...found, ...spellings.get(JSON.stringify(spell(key))) };
    },
    put(made) {
      spellings.set(JSON.stringify(spell(made)), { scope: made.scope, id: made.id });
      return store.put({ ...made, ...spell(made) });
    },
    delete: (key) => store.delete(spell(key)),
    append: (key, items) => store.append(spell(key), items),
    items: (key) => store.items(spell(key)),
    removeItem: (key, id) => store.removeItem(spell(key), id),
  };
}

function keepsNoCopy({ append }: ConversationStore): Partial<ConversationStore> {
  const kept: Item[] = [];
  return {
    append(key, items) {
      kept.push(...items);
      return append(key, items);
    },
    items: () => kept,
  };
}

describe('storeContract', () => {
  it('[X-05] passes a store without event logs', async () => {
    expect(await failures(() => ({ events: undefined }))).toEqual([]);
  });

  it('[X-05] passes a store without chain', async () => {
    expect(await failures(() => ({ chain: undefined }))).toEqual([]);
  });

  it('[X-05] asks nothing of conversations where the test declares that there are none', () => {
    const names: string[] = [];
    const describe = (name: string, body: () => void) => {
      names.push(name);
      body();
    };
    storeContract({ describe, it: () => {}, create: () => ({ store: memoryStore() }), conversations: false });
    expect(names).toEqual(['response store contract', 'event log contract']);
  });

  it('[X-05] shows the maker of a store without conversations how to declare that', async () => {
    const errors: unknown[] = [];
    const cases: Promise<unknown>[] = [];
    storeContract({
      it: (name, run) => cases.push(run().catch((error) => errors.push(...(name.includes('[S-17]') ? [error] : [])))),
      create({ ttlMs }) {
        const { conversations: _, ...store } = memoryStore({ ttlMs });
        return { store };
      },
    });
    await Promise.all(cases);
    expect([...new Set(errors.map(String))]).toEqual([
      'AssertionError [ERR_ASSERTION]: memory has no conversations; give storeContract conversations: false',
    ]);
  });

  it.each(CONVERSATION_FLAWS)('[S-17][X-05] fails conversations that %s: %s', async (_flaw, failing, make) => {
    const converses: Flaw = ({ conversations }) =>
      conversations ? { conversations: { ...conversations, ...make(conversations) } } : {};
    expect(await failures(converses)).toContain(failing);
  });

  it.each(EVENT_FLAWS)('[X-05] fails event logs that %s: %s', async (_flaw, failing, make) => {
    const logs: Flaw = ({ events }) => (events ? { events: { ...events, ...make(events) } } : {});
    expect(await failures(logs)).toContain(failing);
  });

  it.each(FLAWS)('[X-05] fails a store that %s: %s', async (_flaw, failing, make) => {
    expect(await failures(make)).toContain(failing);
  });

  it('[X-05] fails a store without a time to live', async () => {
    expect(
      await failures(
        () => ({}),
        () => ({}),
      ),
    ).toEqual([
      '[F-10] [P-16] does not restore a response that has expired',
      '[P-16] [B-34] drops a response when the store’s time to live is over',
      '[P-16] keeps a response no longer than the store’s time to live, whatever its expiresAt',
      '[P-16] drops a conversation and its items when the store’s time to live is over',
      '[P-16] renews a conversation’s time to live at each put and append',
      '[F-10] [P-16] does not restore a conversation that has expired',
    ]);
  });

  it('[X-05] fails a store that ignores expiresAt', async () => {
    const ignores: Flaw = (store) => ({ put: ({ expiresAt: _, ...response }) => store.put(response) });
    expect(await failures(ignores)).toEqual([
      '[P-16] drops a response at its own expiresAt if that is earlier',
      '[P-16] renews the time to live of a response that is put again',
      '[P-16] ends a chain where an ancestor expired',
    ]);
  });
});
