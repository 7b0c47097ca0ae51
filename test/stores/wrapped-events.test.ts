/** The event logs of a store as requests see them: through timeouts, the watch of writes and the check of tenants. */

import { tenantStore } from '../../src/apis/endpoint/tenant-store.ts';
import type { EventLog } from '../../src/ports/background/event-log.ts';
import { defaultScope } from '../../src/ports/scope.ts';
import { boundedStore, type ResponseStore } from '../../src/ports/store.ts';
import { PartHealth, watchedStore } from '../../src/server/requests/health.ts';
import { encryptedStore } from '../../src/stores/encrypted/encrypted-store.ts';
import { memoryStore } from '../../src/stores/memory/memory-store.ts';
import { contractWithClock } from './stored.ts';

const LATER = Date.now() + 1_000_000;
const KEY = { scope: 's', id: 'resp_1' };

/** The store as a router wraps it. */
function wrapped(store: ResponseStore, timeoutMs = 10_000): ResponseStore {
  return tenantStore(watchedStore(boundedStore(store, timeoutMs), new PartHealth()));
}

function eventsOf({ events }: ResponseStore): EventLog {
  if (!events) throw new Error('The event log is lost.');
  return events;
}

/** The answers of all methods, each called once. */
function answersOf(events: EventLog, key = KEY) {
  return [
    () => events.begin(key, { epoch: 1, request: '{}', expiresAt: LATER }),
    () => events.append(key, { epoch: 1, from: 0, events: ['{}'], state: '' }),
    () => events.claim(key, 2),
    () => events.end(key, 3, LATER),
    () => events.read(key, -1, 100),
    () => events.heads([key]),
    () => events.delete(key),
  ];
}

describe('a store as a router wraps it', () => {
  contractWithClock((options) => ({ store: wrapped(memoryStore(options)) }));

  it('has event logs where the host’s store has them, and none where it has none', () => {
    const { events: _, ...without } = memoryStore();
    expect([wrapped(memoryStore()).events !== undefined, 'events' in wrapped(without)]).toEqual([true, false]);
  });

  it('says of an event log whether other processes see it, as the log does, encrypted too', () => {
    const { events, ...store } = memoryStore();
    const shared = [false, true].map((isShared) => {
      const host = { ...store, events: { ...events, isShared } };
      const keys = [{ id: 'k', key: new Uint8Array(32) }];
      return [eventsOf(wrapped(host)).isShared, eventsOf(wrapped(encryptedStore(host, { keys }))).isShared];
    });
    expect(shared).toEqual([
      [false, false],
      [true, true],
    ]);
  });

  it('calls the methods of an event log on the log, which may be an object of a class', async () => {
    const { events: log } = memoryStore();
    const names = ['begin', 'append', 'claim', 'end', 'read', 'heads', 'delete'] as const;
    const strict = Object.fromEntries(
      names.map((name) => [
        name,
        function call(this: unknown, ...given: readonly unknown[]) {
          if (this !== strict) throw new Error(`${name} was torn from its log`);
          // The cast: the wrapper is typed.
          return (log[name] as (...given: readonly unknown[]) => unknown)(...given);
        },
      ]),
    ) as unknown as EventLog;
    const answers = [];
    for (const call of answersOf(eventsOf(wrapped({ ...memoryStore(), events: strict })))) answers.push(await call());
    expect(answers).toEqual([
      undefined,
      true,
      { epoch: 2, next: 1, ended: false, request: '{}', state: '' },
      true,
      { epoch: 3, next: 1, ended: true, from: 0, events: ['{}'] },
      [{ epoch: 3, next: 1, ended: true }],
      true,
    ]);
  });

  it('waits for an event log no longer than for the store', async () => {
    const never = () => new Promise<never>(() => {});
    const silent: EventLog = {
      isShared: false,
      begin: never,
      append: never,
      claim: never,
      end: never,
      read: never,
      heads: never,
      delete: never,
    };
    const answers = answersOf(eventsOf(wrapped({ ...memoryStore(), events: silent }, 20)));
    const failures = await Promise.all(answers.map((call) => Promise.resolve(call()).catch(String)));
    expect(new Set(failures)).toEqual(new Set(["TimeoutError: The store 'memory' did not answer within 20 ms."]));
  });

  it('[F-08] keeps and finds no event log for a request with a cookie alone', async () => {
    const asked: unknown[] = [];
    const { events, ...store } = memoryStore();
    const log: EventLog = {
      ...events,
      heads(keys) {
        asked.push(keys);
        return events.heads(keys);
      },
    };
    const untracked = { scope: defaultScope(new Headers({ cookie: 'a=b' })), id: 'resp_1' };
    // Somebody has written under this very scope: the log is not found all the same.
    await events.begin(untracked, { epoch: 1, request: '{}', expiresAt: LATER });
    const seen = eventsOf(wrapped({ ...store, events: log }));
    const answers = [];
    for (const call of answersOf(seen, untracked)) answers.push(await call());
    expect(answers).toEqual([undefined, false, undefined, false, undefined, [undefined], false]);
    await seen.begin(KEY, { epoch: 7, request: '{}', expiresAt: LATER });
    expect(await seen.heads([untracked, KEY, untracked, KEY])).toEqual([
      undefined,
      { epoch: 7, next: 0, ended: false },
      undefined,
      { epoch: 7, next: 0, ended: false },
    ]);
    expect(asked).toEqual([[], [KEY, KEY]]);
  });
});
