/** What a connection remembers by itself, in front of the host's store. */

import { connectionMemory, type MemorySettings } from '../../../src/hosts/websocket/memory.ts';
import { type MemoryStore, memoryStore, type StoredResponse } from '../../../src/index.ts';
import { MemoryBudget } from '../../../src/ports/queues/room.ts';
import { finalOf, outcomeOf, startSocketApp } from './support.ts';

const SCOPE = 'me';
const room = new MemoryBudget(1_000_000);
const LARGE = { turns: 10, bytes: 1_000_000, onStoreError: 'fail', scope: SCOPE, room } as const;

function turn(
  id: string,
  { previousId, store = false }: { previousId?: string; store?: boolean } = {},
): StoredResponse {
  const past = previousId === undefined ? {} : { previousId };
  return { scope: SCOPE, id, ...past, createdAt: 0, input: [], output: [], resource: { store } };
}

function start(bounds: MemorySettings = LARGE) {
  const host = memoryStore();
  const memory = connectionMemory(host, bounds);

  async function keep(id: string, { previousId, store }: { previousId?: string; store?: boolean } = {}) {
    const view = memory.turn().store;
    if (previousId !== undefined) await view.chain?.({ scope: SCOPE, id: previousId }, 100);
    await view.put(turn(id, { ...(previousId ? { previousId } : {}), ...(store ? { store } : {}) }));
  }

  async function past(id: string, limit = 100): Promise<readonly string[]> {
    const chain = await memory.turn().store.chain?.({ scope: SCOPE, id }, limit);
    return (chain ?? []).map((stored) => stored.id);
  }

  return { host, memory, keep, past };
}

function known(host: MemoryStore, id: string): boolean {
  return host.get({ scope: SCOPE, id }) !== undefined;
}

describe('the memory of a connection', () => {
  it('[S-15] keeps everything, and hands on only what the client wants stored', async () => {
    const { host, keep, past } = start();
    await keep('kept', { store: true });
    await keep('passing', { previousId: 'kept' });
    expect([await past('passing'), known(host, 'kept'), known(host, 'passing')]).toEqual([
      ['passing', 'kept'],
      true,
      false,
    ]);
  });

  it('[S-15, T-09] leaves what is no response to the host’s store, however little may be remembered', async () => {
    const { host, keep, past } = start({ ...LARGE, turns: 1 });
    await keep('passing');
    await keep('approval_mcpr_1', { store: true });
    await keep('chat_1', { store: true });
    expect([await past('passing'), known(host, 'approval_mcpr_1')]).toEqual([['passing'], true]);
  });

  it('[S-15] goes on in the host’s store where a turn continues what was stored elsewhere', async () => {
    const { host, keep, past } = start();
    host.put(turn('first', { store: true }));
    host.put(turn('second', { previousId: 'first', store: true }));
    await keep('third', { previousId: 'second' });
    expect([await past('third'), await past('third', 2), await past('second')]).toEqual([
      ['third', 'second', 'first'],
      ['third', 'second'],
      ['second', 'first'],
    ]);
  });

  it('[S-15] that forgets a turn still knows it as the past of another', async () => {
    const { memory, keep, past } = start();
    await keep('one');
    await keep('two', { previousId: 'one' });
    memory.forget('one');
    expect([await past('one'), await past('two')]).toEqual([[], ['two', 'one']]);
  });

  it('[S-15] that forgets a turn while another continues it does not cut off that one’s past', async () => {
    const { memory, keep, past } = start();
    await keep('one');
    const view = memory.turn().store;
    await view.chain?.({ scope: SCOPE, id: 'one' }, 100);
    memory.forget('one');
    await view.put(turn('two', { previousId: 'one' }));
    expect(await past('two')).toEqual(['two', 'one']);
  });

  it('[S-15] that forgets what is stored finds it again in the store', async () => {
    const { memory, keep, past } = start();
    await keep('one', { store: true });
    memory.forget('one');
    expect(await past('one')).toEqual(['one']);
  });

  it('[S-15] holds only so many turns that can be continued, the newest', async () => {
    const { keep, past } = start({ ...LARGE, turns: 2 });
    await keep('one');
    await keep('two', { previousId: 'one' });
    await keep('three', { previousId: 'two' });
    expect([await past('one'), await past('two'), await past('three')]).toEqual([
      [],
      ['two', 'one'],
      ['three', 'two', 'one'],
    ]);
  });

  it('[S-15] holds only so many bytes, the past of each turn included', async () => {
    const bytes = Buffer.byteLength(JSON.stringify(turn('a', { previousId: 'x' })));
    const { keep, past } = start({ ...LARGE, bytes: 2 * bytes });
    await keep('a');
    await keep('b', { previousId: 'a' });
    const both = await past('b');
    await keep('c');
    await keep('d', { previousId: 'c' });
    const newest = [await past('b'), await past('d')];
    await keep('e', { previousId: 'd' });
    // What is too long alone is not kept in part.
    expect([both, newest, await past('e')]).toEqual([['b', 'a'], [[], ['d', 'c']], []]);
  });

  it('[S-15] finds single items of what it remembers, and is of the host’s kind in all else', async () => {
    const { host, memory, keep } = start();
    await keep('one');
    const view = memory.turn().store;
    const found = await view.get({ scope: SCOPE, id: 'one' });
    expect([found?.id, view.conversations, view.name]).toEqual(['one', host.conversations, 'memory']);
  });

  it.each([
    ['fail', false],
    ['continue', true],
  ] as const)('[S-15] of what the host’s store could not keep, with onStoreError: %s', async (onStoreError, kept) => {
    const failing = { ...memoryStore(), put: () => Promise.reject(new Error('disk full')) };
    const memory = connectionMemory(failing, { ...LARGE, onStoreError });
    const view = memory.turn();
    const failure = await Promise.resolve(view.store.put(turn('one', { store: true }))).catch(String);
    const found = await memory.turn().store.get({ scope: SCOPE, id: 'one' });
    expect([failure, view.canContinue, found?.id]).toEqual(['Error: disk full', kept, kept ? 'one' : undefined]);
  });
});

describe('the memory of all connections', () => {
  const bytes = Buffer.byteLength(JSON.stringify(turn('a1')));

  /** A connection of this tenant that remembers so many turns. */
  async function connection(room: MemoryBudget, scope: string, turns: number) {
    const memory = connectionMemory(memoryStore(), { ...LARGE, scope, room });
    const keep = (number: number) => memory.turn().store.put(turn(`${scope}${number}`));
    for (let number = 1; number <= turns; number += 1) await keep(number);
    const known = async () => {
      const ids = [1, 2, 3, 4].map((number) => `${scope}${number}`);
      const found = await Promise.all(ids.map((id) => memory.turn().store.get({ scope, id })));
      return ids.filter((_, index) => found[index]);
    };
    return { memory, keep, known };
  }

  it('[S-15] [P-11] is bounded: the largest connection of the tenant that holds most forgets its oldest turns', async () => {
    const room = new MemoryBudget(6 * bytes);
    const other = await connection(room, 'b', 2);
    const [small, large] = [await connection(room, 'a', 1), await connection(room, 'a', 3)];
    const fits = [await other.known(), await small.known(), await large.known()];
    await small.keep(2);
    await small.keep(3);
    expect(fits).toEqual([['b1', 'b2'], ['a1'], ['a1', 'a2', 'a3']]);
    expect([await other.known(), await small.known(), await large.known()]).toEqual([
      ['b1', 'b2'],
      ['a2', 'a3'],
      ['a2', 'a3'],
    ]);
  });

  it('[S-15] [P-11] has room again when a connection is closed, whose running turn then is not kept', async () => {
    const room = new MemoryBudget(3 * bytes);
    const gone = await connection(room, 'a', 3);
    gone.memory.close();
    await gone.keep(4);
    const next = await connection(room, 'b', 3);
    expect([await gone.known(), await next.known()]).toEqual([[], ['b1', 'b2', 'b3']]);
  });

  it('[S-15] [P-11] is what the option allows', async () => {
    const app = await startSocketApp({ memoryBytes: 10 });
    const talk = await app.connect();
    const { id } = finalOf(await talk.ask({ store: false }));
    const next = await talk.ask({ store: false, previous_response_id: id });
    await app.close();
    expect(outcomeOf(next)).toBe('previous_response_not_found');
  });
});

describe('a connection', () => {
  it('[S-15] sends each turn the whole conversation before, wherever that is kept', async () => {
    const app = await startSocketApp();
    const talk = await app.connect();
    let id: string | undefined;
    for (const store of [true, false, true, false]) {
      id = finalOf(await talk.ask({ store, input: String(store), ...(id ? { previous_response_id: id } : {}) })).id;
    }
    const written = app.requested().filter(({ role }) => role === 'user');
    await app.close();
    expect(written.map(({ content }) => content)).toEqual(['true', 'false', 'true', 'false']);
  });

  it('[S-15] forgets the response that a failed turn continued, whether it was refused or broke off', async () => {
    const app = await startSocketApp();
    const talk = await app.connect();
    const { id } = finalOf(await talk.ask({ store: false }));
    app.fake.reply({ body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n', cutAfterBytes: 10_000 });
    const broken = await talk.ask({ store: false, previous_response_id: id });
    const again = await talk.ask({ store: false, previous_response_id: id });
    await app.close();
    expect([outcomeOf(broken), outcomeOf(again)]).toEqual(['failed', 'previous_response_not_found']);
  });

  it('[S-15] continues what is stored even after a turn of it failed', async () => {
    const app = await startSocketApp();
    const talk = await app.connect();
    const { id } = finalOf(await talk.ask());
    const failed = await talk.ask({ previous_response_id: id, temperature: 9 });
    const again = await talk.ask({ previous_response_id: id });
    await app.close();
    expect([outcomeOf(failed), outcomeOf(again)]).toEqual(['decimal_above_max_value', 'completed']);
  });
});
