/** The encrypted store: the contract over two stores, rotation of keys, tampering, and what stays secret. */
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import type { ResponseKey, ResponseStore, StoredConversation, StoredResponse } from '../../src/ports/store.ts';
import type { Item } from '../../src/protocol/items.ts';
import { encryptedStore } from '../../src/stores/encrypted/encrypted-store.ts';
import { memoryStore } from '../../src/stores/memory/memory-store.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { describeDrivers } from './sqlite-drivers.ts';
import { contractWithClock, storedResponse } from './stored.ts';

const OLD = { id: 'old', key: randomBytes(32) };
const NEW = { id: 'new', key: randomBytes(32).toString('base64') };
const CONVERSATION: StoredConversation = { scope: 's', id: 'conv_1', createdAt: 0, metadata: { title: 'Secret plan' } };

const withOld = (store: ResponseStore) => encryptedStore(store, { keys: [OLD] });

function saying(text: string, more: Partial<Item> = {}): Item {
  return { type: 'message', content: [{ type: 'output_text', text }], ...more };
}

function secretTurn(id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  const [input, output] = [[saying('Secret question')], [saying('Secret answer', { id: `msg_${id}` })]];
  return storedResponse(id, { input, output, resource: { instructions: 'Secret order' }, ...more });
}

const LATER = Date.now() + 1_000_000;
const LOG = { scope: 's', id: 'resp_1' };
const SECRET_EVENTS = ['{"text":"Secret 1"}', '{"text":"Secret 2"}', '{"text":"Secret 3"}'];

/** A log with three events, and the store beneath. */
async function secretLog() {
  const inner = memoryStore();
  const { events } = withOld(inner);
  if (!events) throw new Error('A memory store has event logs.');
  await events.begin(LOG, { epoch: 1, request: 'Secret request', expiresAt: LATER });
  await events.append(LOG, { epoch: 1, from: 0, events: SECRET_EVENTS, state: 'Secret state' });
  return { inner, events };
}

/** Puts what is at one key under another, as somebody with access to the database could. */
function move(store: ReturnType<typeof memoryStore>, from: ResponseKey, to: ResponseKey): void {
  const found = store.get(from);
  if (!found) throw new Error('There is nothing to move.');
  store.put({ ...found, scope: to.scope, id: to.id });
}

describe('encryptedStore over memoryStore', () => {
  contractWithClock((options) => ({ store: withOld(memoryStore(options)) }));
});

describe('encryptedStore over sqliteStore', () => {
  describeDrivers((open) => {
    contractWithClock((options) => {
      const database = open(':memory:');
      return { store: withOld(sqliteStore({ database, ...options })), close: () => database.close() };
    });
  });
});

describe('encryptedStore over a store without chain and conversations', () => {
  contractWithClock(
    (options) => {
      const { chain: _, conversations: __, ...store } = memoryStore(options);
      return { store: withOld(store) };
    },
    { conversations: false },
  );
});

describe('encryptedStore', () => {
  it('hands on only what the store has', () => {
    const { chain: _, conversations: __, close: ___, events: ____, ...store } = memoryStore();
    const optional = (of: ResponseStore) => [of.name, !!of.chain, !!of.conversations, !!of.events, !!of.close];
    expect([optional(withOld(store)), optional(withOld(memoryStore()))]).toEqual([
      ['encrypted memory', false, false, false, false],
      ['encrypted memory', true, true, true, true],
    ]);
  });

  it('keeps no word where the store can read it, and leaves scopes, ids and times readable', async () => {
    const kept: unknown[] = [];
    const inner = memoryStore();
    const store = withOld({
      ...inner,
      put: (response) => void kept.push(response),
      conversations: {
        ...inner.conversations,
        put: (conversation) => void kept.push(conversation),
        append: (_key, items) => kept.push(items) > 0,
      },
    });
    await store.put(secretTurn('resp_1', { previousId: 'resp_0', createdAt: 5, expiresAt: 7 }));
    await store.conversations?.put(CONVERSATION);
    await store.conversations?.append(CONVERSATION, [saying('Secret item', { id: 'msg_2' })]);
    const encrypted = expect.stringMatching(/^1\.b2xk\.[\w-]{40,}$/);
    expect(kept).toEqual([
      {
        ...{ scope: 's', id: 'resp_1', previousId: 'resp_0', createdAt: 5, expiresAt: 7 },
        ...{ input: [], output: [{ type: 'encrypted', encrypted }], resource: {} },
      },
      { scope: 's', id: 'conv_1', createdAt: 0, metadata: { encrypted } },
      [{ type: 'encrypted', id: 'msg_2', encrypted }],
    ]);
    const texts = JSON.stringify(kept).match(/1\.b2xk\.[\w-]+/g) ?? [];
    const bytes = texts.map((text) => Buffer.from(text.slice('1.b2xk.'.length), 'base64url').toString('latin1'));
    expect([texts.length, [...bytes, JSON.stringify(kept)].filter((text) => text.includes('Secret'))]).toEqual([3, []]);
  });

  it('encrypts the same words differently each time', async () => {
    const inner = memoryStore();
    const puts = [];
    for (let time = 0; time < 2; time += 1) {
      await withOld(inner).put(secretTurn('resp_1'));
      puts.push(inner.get(secretTurn('resp_1'))?.output[0]?.encrypted);
    }
    expect(new Set(puts).size).toBe(2);
  });

  it('reads with all keys and writes with the first', async () => {
    const inner = memoryStore();
    const [before, after] = [secretTurn('resp_1'), secretTurn('resp_2', { previousId: 'resp_1' })];
    await withOld(inner).put(before);
    const rotated = encryptedStore(inner, { keys: [NEW, OLD] });
    await rotated.put(after);
    expect(await rotated.chain?.(after, 10)).toEqual([after, before]);
    expect(await encryptedStore(inner, { keys: [NEW] }).get(after)).toEqual(after);
    await expect(withOld(inner).get(after)).rejects.toThrow(
      new Error("encryptedStore: response 'resp_2' needs the key 'new', which is not among the keys"),
    );
  });

  it('takes the same key as bytes, as base64 and as base64url', async () => {
    const inner = memoryStore();
    const key = Buffer.alloc(32, 0xfb);
    await encryptedStore(inner, { keys: [{ id: 'a', key: new Uint8Array(key) }] }).put(secretTurn('resp_1'));
    const spellings = [key.toString('base64'), key.toString('base64url')];
    const read = spellings.map((text) =>
      encryptedStore(inner, { keys: [{ id: 'a', key: text }] }).get(secretTurn('resp_1')),
    );
    expect(await Promise.all(read)).toEqual([secretTurn('resp_1'), secretTurn('resp_1')]);
  });

  it('[P-13] refuses a response that was moved to another scope, id or parent', async () => {
    const inner = memoryStore();
    const store = withOld(inner);
    const [mine, yours] = [secretTurn('resp_1'), secretTurn('resp_1', { scope: 'other' })];
    await store.put(mine);
    move(inner, mine, yours);
    move(inner, mine, { scope: 's', id: 'resp_2' });
    inner.put({ ...(inner.get(mine) ?? mine), id: 'resp_1', previousId: 'resp_0' });
    const failure = (id: string) =>
      `encryptedStore: response '${id}' does not decrypt with the key 'old': ` +
      'it was changed, or put in another place than its own';
    await expect(store.get(yours)).rejects.toThrow(failure('resp_1'));
    await expect(store.get({ scope: 's', id: 'resp_2' })).rejects.toThrow(failure('resp_2'));
    await expect(store.get(mine)).rejects.toThrow(failure('resp_1'));
    await expect(store.chain?.(yours, 10)).rejects.toThrow(failure('resp_1'));
  });

  it('[P-13] refuses a row whose columns were changed beside what it says itself', async () => {
    const inner = memoryStore();
    const mine = secretTurn('resp_1');
    await withOld(inner).put(mine);
    // A database finds by columns and answers what stands in the body.
    const store = withOld({ ...inner, get: () => inner.get(mine), chain: () => inner.chain(mine, 10) });
    await expect(store.get({ scope: 'other', id: 'resp_1' })).rejects.toThrow('does not decrypt');
    await expect(store.chain?.({ scope: 's', id: 'resp_2' }, 10)).rejects.toThrow('does not decrypt');
  });

  it('refuses a chain whose rows were swapped', async () => {
    const inner = memoryStore();
    const turns = [secretTurn('resp_1'), secretTurn('resp_2', { previousId: 'resp_1' })] as const;
    for (const turn of turns) await withOld(inner).put(turn);
    const swapped = withOld({ ...inner, chain: (key, limit) => inner.chain(key, limit).toReversed() });
    await expect(swapped.chain?.(turns[1], 10)).rejects.toThrow('does not decrypt');
  });

  it('[S-17] refuses metadata and items of another conversation, and items of another id', async () => {
    const inner = memoryStore();
    const { conversations } = withOld(inner);
    if (!conversations) throw new Error('A memory store has conversations.');
    const other = { ...CONVERSATION, id: 'conv_2' };
    await conversations.put(CONVERSATION);
    await conversations.append(CONVERSATION, [saying('Secret item', { id: 'msg_1' })]);
    const items = inner.conversations.items(CONVERSATION);
    inner.conversations.put({ ...other, metadata: inner.conversations.get(CONVERSATION)?.metadata ?? {} });
    inner.conversations.append(other, items);
    inner.conversations.append(
      CONVERSATION,
      items.map((item) => ({ ...item, id: 'msg_2' })),
    );
    const failures = [conversations.get(other), conversations.items(other), conversations.items(CONVERSATION)];
    const reported = (await Promise.allSettled(failures)).map(
      (failure) => 'reason' in failure && String(failure.reason),
    );
    const why = "does not decrypt with the key 'old': it was changed, or put in another place than its own";
    expect(reported).toEqual([
      `Error: encryptedStore: conversation 'conv_2' ${why}`,
      `Error: encryptedStore: item of conversation 'conv_2' ${why}`,
      `Error: encryptedStore: item of conversation 'conv_1' ${why}`,
    ]);
  });

  it('keeps no word of an event log where the store can read it, and each text as JSON', async () => {
    const { inner, events } = await secretLog();
    const kept = [...((await inner.events.read(LOG, -1, 1e6))?.events ?? [])];
    const { request = '', state = '' } = (await inner.events.claim(LOG, 2)) ?? {};
    kept.push(request, state);
    const bytes = kept.map((text) => Buffer.from(JSON.parse(text).slice('1.b2xk.'.length), 'base64url').toString());
    const withWords = [...kept, ...bytes].filter((text) => text.includes('Secret'));
    expect([kept.length, withWords, await events.heads([LOG])]).toEqual([5, [], [{ epoch: 2, next: 3, ended: false }]]);
  });

  it('[P-13] refuses an event at another number, of another log or scope, and a request as a state', async () => {
    const { inner, events } = await secretLog();
    const page = await inner.events.read(LOG, -1, 1e6);
    const claimed = await inner.events.claim(LOG, 2);
    const [first = '', second = '', third = ''] = page?.events ?? [];
    const { request = '', state = '' } = claimed ?? {};
    const read = async (
      id: string,
      own: { request?: string; state?: string; texts?: readonly string[] },
      scope = 's',
    ) => {
      const key = { scope, id };
      await inner.events.begin(key, { epoch: 1, request: own.request ?? request, expiresAt: LATER });
      await inner.events.append(key, { epoch: 1, from: 0, events: own.texts ?? [], state: own.state ?? state });
      return own.texts ? events.read(key, -1, 1e6) : events.claim(key, 2);
    };
    const moved = [
      () => read('resp_1', { texts: [second, first, third] }),
      () => read('resp_1', { texts: [first, first] }),
      () => read('resp_2', { texts: [first] }),
      () => read('resp_1', { texts: [first] }, 'other'),
      () => read('resp_1', { texts: [request] }),
      () => read('resp_1', { request: state }),
      () => read('resp_1', { state: request }),
      () => read('resp_2', {}),
    ];
    for (const attempt of moved) await expect(attempt()).rejects.toThrow('it was changed, or put in another place');
    expect(await read('resp_1', { texts: [first, second] })).toMatchObject({ events: SECRET_EVENTS.slice(0, 2) });
  });

  it('refuses an event of which any one character was changed or cut off, and a state that was emptied', async () => {
    const { inner, events } = await secretLog();
    const [text = ''] = (await inner.events.read(LOG, -1, 1))?.events ?? [];
    const spoilt = Array.from(
      text,
      (character, at) => text.slice(0, at) + (character === 'A' ? 'B' : 'A') + text.slice(at + 1),
    );
    const readable = [];
    // Before the closing quote stands the last character of base64, which may hold bits that no byte takes.
    for (const changed of [...spoilt.slice(0, -2), ...spoilt.slice(-1), '', '""', text.slice(0, -3), 'null', '{}']) {
      await inner.events.begin(LOG, { epoch: 1, request: '', expiresAt: LATER });
      await inner.events.append(LOG, { epoch: 1, from: 0, events: [changed], state: '' });
      const [answer] = await Promise.allSettled([events.read(LOG, -1, 1000)]);
      if (answer.status === 'fulfilled') readable.push(changed);
    }
    expect([text.length > 40, readable]).toEqual([true, []]);
    await expect(events.claim(LOG, 9)).rejects.toThrow("request of event log 'resp_1' is not encrypted");
  });

  it('refuses a text of which any one character was changed or cut off', async () => {
    const inner = memoryStore();
    const store = withOld(inner);
    await store.put(secretTurn('resp_1'));
    const kept = inner.get(secretTurn('resp_1'));
    const text = String(kept?.output[0]?.encrypted);
    const spoilt = Array.from(
      text,
      (character, at) => text.slice(0, at) + (character === 'A' ? 'B' : 'A') + text.slice(at + 1),
    );
    // The last character of base64 may hold bits that no byte takes.
    const accepted = [];
    for (const encrypted of [...spoilt.slice(0, -1), '', text.slice(0, -2), text.slice(0, 10)]) {
      inner.put({ ...secretTurn('resp_1'), output: [{ type: 'encrypted', encrypted }] });
      const [answer] = await Promise.allSettled([store.get(secretTurn('resp_1'))]);
      if (answer.status === 'fulfilled') accepted.push(encrypted);
    }
    expect([text.length > 100, accepted]).toEqual([true, []]);
  });

  it('refuses what was put without it', async () => {
    const inner = memoryStore();
    inner.put(secretTurn('resp_1'));
    inner.conversations.put(CONVERSATION);
    const store = withOld(inner);
    await expect(store.get(secretTurn('resp_1'))).rejects.toThrow(
      new Error("encryptedStore: response 'resp_1' is not encrypted"),
    );
    await expect(store.conversations?.get(CONVERSATION)).rejects.toThrow("conversation 'conv_1' is not encrypted");
  });

  it('shows no key and no scope in an error', async () => {
    const inner = memoryStore();
    await withOld(inner).put(secretTurn('resp_1', { scope: 'company' }));
    const key = { scope: 'company', id: 'resp_1' };
    const wrong = { id: 'old', key: NEW.key };
    const errors = await Promise.allSettled([
      encryptedStore(inner, { keys: [wrong] }).get(key),
      encryptedStore(inner, { keys: [NEW] }).get(key),
    ]);
    const reported = inspect(errors, { depth: 10 });
    const secrets = [NEW.key, Buffer.from(NEW.key, 'base64').toString('hex'), OLD.key.toString('base64'), 'company'];
    expect([errors.map(({ status }) => status), secrets.filter((secret) => reported.includes(secret))]).toEqual([
      ['rejected', 'rejected'],
      [],
    ]);
  });

  it('takes a copy of the key', async () => {
    const inner = memoryStore();
    const key = Buffer.from(OLD.key);
    const store = encryptedStore(inner, { keys: [{ id: 'old', key }] });
    key.fill(0);
    await store.put(secretTurn('resp_1'));
    expect(await withOld(inner).get(secretTurn('resp_1'))).toEqual(secretTurn('resp_1'));
  });

  const secret = 'hunter2-hunter2-hunter2';
  it.each([
    [secret, 'encryptedStore: the options must be an object such as { keys: [...] }'],
    [[{ id: 'a', key: secret }], 'encryptedStore: the options must be an object such as { keys: [...] }'],
    [{}, 'encryptedStore: keys must be a list of at least one key, got undefined'],
    [{ keys: [] }, 'encryptedStore: keys must be a list of at least one key, got a list of 0'],
    [{ keys: secret }, 'encryptedStore: keys must be a list of at least one key, got a string of 23 characters'],
    [{ keys: [secret] }, 'encryptedStore: keys[0] must be an object, got a string of 23 characters'],
    [{ keys: [{ key: OLD.key }] }, 'encryptedStore: keys[0].id must be a string that is not empty, got undefined'],
    [
      { keys: [{ id: '', key: OLD.key }] },
      'encryptedStore: keys[0].id must be a string that is not empty, got a string of 0 characters',
    ],
    [{ keys: [OLD, OLD] }, "encryptedStore: keys[1].id must differ from the others, got 'old'"],
    [
      { keys: [{ id: 'a', key: secret }] },
      "encryptedStore: keys[0].key ('a') must be 32 bytes, or those as base64, got a string of 23 characters",
    ],
    [
      { keys: [{ id: 'a', key: Buffer.alloc(16) }] },
      "encryptedStore: keys[0].key ('a') must be 32 bytes, or those as base64, got 16 bytes",
    ],
    [{ keys: [{ id: 'a' }] }, "encryptedStore: keys[0].key ('a') must be 32 bytes, or those as base64, got undefined"],
    [{ keys: [OLD], key: secret }, "encryptedStore: unknown option 'key'; known are keys"],
  ])('refuses bad options (%#) with a TypeError that shows no key', (options, message) => {
    // The cast: a host in JavaScript.
    expect(() => encryptedStore(memoryStore(), options as never)).toThrow(new TypeError(message));
  });

  it('refuses what is no store', () => {
    // The cast: a host in JavaScript.
    expect(() => encryptedStore('memory' as never, { keys: [OLD] })).toThrow(
      new TypeError("encryptedStore: the store must have get, put and delete, got 'memory'"),
    );
  });
});
