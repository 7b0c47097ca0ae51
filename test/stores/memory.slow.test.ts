/** The memory store: the contract that every store keeps, and its own bounds. */

import fc from 'fast-check';
import type { StoredConversation, StoredResponse } from '../../src/ports/store.ts';
import type { Item } from '../../src/protocol/items.ts';
import { memoryStore } from '../../src/stores/memory/memory-store.ts';
import { storeContract } from '../../src/testing/index.ts';
import { contractWithClock, stoppedClock, storedResponse } from './stored.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A response whose JSON has exactly so many bytes. */
function responseOf(bytes: number, id: string, filler = 'x'): StoredResponse {
  const empty = storedResponse(id, { resource: { filler: '' } });
  const room = bytes - Buffer.byteLength(JSON.stringify(empty));
  return storedResponse(id, { resource: { filler: filler.repeat(room / Buffer.byteLength(filler)) } });
}

/** A conversation whose JSON has exactly so many bytes. */
function conversationOf(bytes: number, id: string): StoredConversation {
  const empty = { scope: 's', id, createdAt: 0, metadata: { filler: '' } };
  return { ...empty, metadata: { filler: 'x'.repeat(bytes - JSON.stringify(empty).length) } };
}

function large(id: string): Item {
  return { type: 'message', id, text: 'x'.repeat(500) };
}

/** Which of the ids are still there. */
function kept(store: ReturnType<typeof memoryStore>, ...ids: readonly string[]): readonly string[] {
  return ids.filter((id) => store.get({ scope: 's', id }));
}

describe('memoryStore with a clock of the test', () => {
  contractWithClock((options) => ({ store: memoryStore(options) }));
});

describe('memoryStore in real time', () => {
  storeContract({ describe, it, bounded: true, create: ({ ttlMs }) => ({ store: memoryStore({ ttlMs }) }) });
});

describe('memoryStore', () => {
  it('[P-16] evicts the oldest when there are more than maxResponses', () => {
    const store = memoryStore({ maxResponses: 2 });
    for (const id of ['a', 'b', 'c']) store.put(storedResponse(id));
    expect(kept(store, 'a', 'b', 'c')).toEqual(['b', 'c']);
  });

  it('[P-16] counts a response that is put again as the newest, once', () => {
    const store = memoryStore({ maxResponses: 2 });
    for (const id of ['a', 'b', 'a', 'c']) store.put(storedResponse(id));
    expect(kept(store, 'a', 'b', 'c')).toEqual(['a', 'c']);
  });

  it('[P-16] always drops the oldest, whatever was put again, deleted or cleared before', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ put: fc.nat(7) }) },
      { weight: 3, arbitrary: fc.record({ drop: fc.nat(7) }) },
      { weight: 1, arbitrary: fc.constant({ close: true }) },
    );
    const most = 3;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = memoryStore({ maxResponses: most });
        let expected: readonly string[] = [];
        for (const { put, drop, close } of steps as readonly { put?: number; drop?: number; close?: boolean }[]) {
          const id = String(put ?? drop);
          const others = expected.filter((other) => other !== id);
          expected = close ? [] : put === undefined ? others : [...others, id].slice(-most);
          if (close) store.close();
          else if (put === undefined) store.delete({ scope: 's', id });
          else store.put(storedResponse(id));
          expect(kept(store, '0', '1', '2', '3', '4', '5', '6', '7')).toEqual(expected.toSorted());
        }
      }),
    );
  });

  it('[P-16] does not count a read as a use: the oldest goes, not the least read', () => {
    const store = memoryStore({ maxResponses: 2 });
    for (const id of ['a', 'b']) store.put(storedResponse(id));
    store.get({ scope: 's', id: 'a' });
    store.put(storedResponse('c'));
    expect(kept(store, 'a', 'b', 'c')).toEqual(['b', 'c']);
  });

  it('[P-16] evicts over all scopes', () => {
    const store = memoryStore({ maxResponses: 1 });
    store.put(storedResponse('a', { scope: 'other' }));
    store.put(storedResponse('b'));
    expect([store.get({ scope: 'other', id: 'a' }), store.size]).toEqual([undefined, 1]);
  });

  it('[P-16] holds exactly maxBytes, and one byte more evicts the oldest', () => {
    const store = memoryStore({ maxBytes: 2000 });
    for (const id of ['a', 'b']) store.put(responseOf(1000, id));
    const full = kept(store, 'a', 'b');
    store.put(responseOf(1001, 'b'));
    expect([full, kept(store, 'a', 'b')]).toEqual([['a', 'b'], ['b']]);
  });

  it('[P-16] counts bytes, not characters', () => {
    const store = memoryStore({ maxBytes: 2000 });
    store.put(responseOf(1000, 'a', 'é'));
    store.put(responseOf(1002, 'b', 'é'));
    expect(kept(store, 'a', 'b')).toEqual(['b']);
  });

  it('[P-16] evicts as many as it takes', () => {
    const store = memoryStore({ maxBytes: 3000 });
    for (const id of ['a', 'b', 'c']) store.put(responseOf(1000, id));
    store.put(responseOf(1500, 'd'));
    expect(kept(store, 'a', 'b', 'c', 'd')).toEqual(['c', 'd']);
  });

  it('[P-16] gets back the room of what was deleted, replaced, expired or closed', () => {
    const clock = stoppedClock();
    const store = memoryStore({ maxBytes: 2000, ttlMs: DAY_MS, now: clock.now });
    for (const id of ['a', 'b', 'b', 'a']) store.put(responseOf(1000, id));
    store.delete({ scope: 's', id: 'a' });
    store.put(responseOf(1000, 'c'));
    const afterDelete = kept(store, 'b', 'c');
    clock.advance(DAY_MS);
    for (const id of ['d', 'e']) store.put(responseOf(1000, id));
    const afterExpiry = kept(store, 'd', 'e');
    store.close();
    const sizeAfterClose = store.size;
    for (const id of ['f', 'g']) store.put(responseOf(1000, id));
    expect([afterDelete, afterExpiry, sizeAfterClose, kept(store, 'f', 'g')]).toEqual([
      ['b', 'c'],
      ['d', 'e'],
      0,
      ['f', 'g'],
    ]);
  });

  it('[P-16] refuses a response that alone is larger than maxBytes, and loses nothing by it', () => {
    const store = memoryStore({ maxBytes: 1000 });
    store.put(responseOf(1000, 'a'));
    expect(() => store.put(responseOf(1001, 'b'))).toThrow(
      new Error('memoryStore: b takes 1001 bytes, more than maxBytes, 1000'),
    );
    expect(kept(store, 'a', 'b')).toEqual(['a']);
  });

  it('[P-16] counts event logs towards maxBytes, lets what changed last stay, and refuses what exceeds all room', async () => {
    const { events, ...store } = memoryStore({ maxBytes: 2000 });
    const log = (id: string) => ({ scope: 's', id });
    const begin = (id: string) => events.begin(log(id), { epoch: 1, request: 'x'.repeat(400), expiresAt: 1e15 });
    const append = (id: string, from: number, bytes: number) =>
      events.append(log(id), {
        epoch: 1,
        from,
        events: ['x'.repeat(bytes - 100), 'é'.repeat(25)],
        state: 'x'.repeat(50),
      });
    store.put(responseOf(400, 'a'));
    for (const id of ['b', 'c', 'd']) begin(id);
    append('b', 0, 400);
    const full = [store.get(log('a')) !== undefined, await events.heads(['b', 'c', 'd'].map(log))];
    append('b', 2, 400);
    const evicted = [store.get(log('a')) !== undefined, await events.heads(['b', 'c', 'd'].map(log))];
    const head = (next: number) => ({ epoch: 1, next, ended: false });
    expect([full, evicted]).toEqual([
      [true, [head(2), head(0), head(0)]],
      [false, [head(4), head(0), head(0)]],
    ]);
    expect(() => append('b', 4, 1000)).toThrow('memoryStore: b takes 2100 bytes, more than maxBytes, 2000');
    expect(await events.heads(['b', 'c', 'd'].map(log))).toEqual([head(4), head(0), head(0)]);
  });

  it('[P-16] counts conversations and their items towards maxBytes, and lets what changed last stay', () => {
    const store = memoryStore({ maxBytes: 3000 });
    const [first, second] = [conversationOf(500, 'first'), conversationOf(500, 'second')];
    const left = () => [
      ...kept(store, 'a', 'b', 'c', 'd'),
      ...[first, second].filter((key) => store.conversations.get(key)).map(({ id }) => id),
    ];
    for (const made of [first, second]) store.conversations.put(made);
    store.put(responseOf(1000, 'a'));
    store.conversations.append(first, [large('one')]);
    const history = ['b', 'c', 'd'].map((id) => {
      store.put(responseOf(900, id));
      return left();
    });
    expect(history).toEqual([
      ['a', 'b', 'first'],
      ['b', 'c', 'first'],
      ['b', 'c', 'd'],
    ]);
  });

  it('[P-16] holds as many conversations as responses, each counted apart, and evicts the oldest of each', () => {
    const store = memoryStore({ maxResponses: 2 });
    const conversations = ['first', 'second', 'third'].map((id) => conversationOf(500, id));
    for (const made of conversations) store.conversations.put(made);
    for (const id of ['a', 'b', 'c']) store.put(storedResponse(id));
    expect([store.size, kept(store, 'a', 'b', 'c'), conversations.map((key) => store.conversations.get(key))]).toEqual([
      2,
      ['b', 'c'],
      [undefined, ...conversations.slice(1)],
    ]);
  });

  it('[P-16] refuses items that would make a conversation larger than maxBytes, and loses nothing by it', () => {
    const store = memoryStore({ maxBytes: 1000 });
    const made = conversationOf(500, 'conv_1');
    const item = { type: 'message', text: 'x'.repeat(200) };
    store.conversations.put(made);
    store.conversations.append(made, [item]);
    expect(() => store.conversations.append(made, [item, item])).toThrow(
      new Error('memoryStore: conv_1 takes 1184 bytes, more than maxBytes, 1000'),
    );
    expect([store.conversations.get(made), store.conversations.items(made)]).toEqual([made, [item]]);
  });

  it('[P-16] gets back the room of conversations that were deleted, shortened or closed', () => {
    const store = memoryStore({ maxBytes: 1300 });
    const made = conversationOf(500, 'conv_1');
    const [one, other] = [large('one'), large('other')];
    store.conversations.put(made);
    store.conversations.append(made, [one]);
    store.conversations.removeItem(made, 'one');
    store.conversations.append(made, [other]);
    const shortened = store.conversations.items(made);
    store.conversations.delete(made);
    for (const id of ['a', 'b']) store.put(responseOf(650, id));
    const deleted = kept(store, 'a', 'b');
    store.close();
    store.conversations.put(made);
    store.put(responseOf(650, 'c'));
    expect([shortened, deleted, kept(store, 'c'), store.conversations.get(made)]).toEqual([
      [other],
      ['a', 'b'],
      ['c'],
      made,
    ]);
  });

  it('[P-16] keeps a response to the last millisecond of its 30 days, and no longer', () => {
    const clock = stoppedClock();
    const store = memoryStore({ now: clock.now });
    store.put(storedResponse('a'));
    clock.advance(30 * DAY_MS - 1);
    const before = kept(store, 'a');
    clock.advance(1);
    expect([before, kept(store, 'a')]).toEqual([['a'], []]);
  });

  it('[P-16] drops what expired from the oldest end at a put, and elsewhere when it is met', () => {
    const clock = stoppedClock();
    const store = memoryStore({ ttlMs: DAY_MS, now: clock.now });
    const soon = { expiresAt: clock.now() + 1 };
    for (const item of [
      storedResponse('a', soon),
      storedResponse('b', soon),
      storedResponse('c'),
      storedResponse('d', soon),
    ])
      store.put(item);
    clock.advance(1);
    store.put(storedResponse('e'));
    const afterPut = store.size;
    store.get({ scope: 's', id: 'd' });
    expect([afterPut, store.size]).toEqual([3, 2]);
  });

  it('[P-16] keeps 10,000 responses by default', () => {
    const store = memoryStore();
    for (let index = 0; index <= 10_000; index += 1) store.put(storedResponse(`resp_${index}`));
    expect([store.size, kept(store, 'resp_0', 'resp_1')]).toEqual([10_000, ['resp_1']]);
  });

  it('walks a chain at once, without a promise', () => {
    const store = memoryStore();
    store.put(storedResponse('a'));
    store.put(storedResponse('b', { previousId: 'a' }));
    expect(store.chain({ scope: 's', id: 'b' }, 10)).toEqual([
      storedResponse('b', { previousId: 'a' }),
      storedResponse('a'),
    ]);
  });

  it('takes undefined for an option that is omitted', () => {
    const store = memoryStore({ maxResponses: undefined, maxBytes: undefined, ttlMs: undefined, now: undefined });
    store.put(storedResponse('a'));
    expect(kept(store, 'a')).toEqual(['a']);
  });

  it.each([
    [{ maxResponses: -1 }, 'memoryStore: maxResponses must be a positive integer, got -1'],
    [{ maxResponses: 1.5 }, 'memoryStore: maxResponses must be a positive integer, got 1.5'],
    [{ maxBytes: '1mb' }, "memoryStore: maxBytes must be a positive integer, got '1mb'"],
    [{ maxBytes: Number.POSITIVE_INFINITY }, 'memoryStore: maxBytes must be a positive integer, got Infinity'],
    [{ ttlMs: 0 }, 'memoryStore: ttlMs must be a positive integer, got 0'],
    [{ ttlMs: null }, 'memoryStore: ttlMs must be a positive integer, got null'],
    [{ now: 5 }, 'memoryStore: now must be a function, got 5'],
    [{ maxRespones: 5 }, "memoryStore: unknown option 'maxRespones'; known are maxResponses, maxBytes, ttlMs, now"],
    [{ constructor: 5 }, "memoryStore: unknown option 'constructor'; known are maxResponses, maxBytes, ttlMs, now"],
    [null, 'memoryStore: options must be an object, got null'],
    ['redis', "memoryStore: options must be an object, got 'redis'"],
  ])('refuses %j with a TypeError that names the option and quotes the value', (options, message) => {
    // The cast: a host in JavaScript.
    expect(() => memoryStore(options as object)).toThrow(new TypeError(message));
  });
});
