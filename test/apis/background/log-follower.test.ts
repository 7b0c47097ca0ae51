/** A client that reads a log: what it gets while the store is slow or away. */
import { jest } from '@jest/globals';
import { eventText } from '../../../src/apis/background/event-text.ts';
import { LogFollower } from '../../../src/apis/background/log-follower.ts';
import { LogWatch } from '../../../src/apis/background/log-watch.ts';
import type { EventReader } from '../../../src/apis/background/recording.ts';
import type { EventLog, LogPage } from '../../../src/ports/background/event-log.ts';
import type { TurnEvent } from '../../../src/protocol/events.ts';
import { memoryStore } from '../../../src/stores/memory/memory-store.ts';

const KEY = { scope: 'one', id: 'resp_1' };
const DAY_MS = 86_400_000;
const BEAT_MS = 15_000;

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

/** Spells events as their types. */
const reader: EventReader<TurnEvent> = {
  readsAll: false,
  read: (event) => `${event.type};`,
  end: () => 'end;',
  fail: (_sequence, { code }) => `error ${code};`,
};

/** A log of two events, which answers a read as the test says. */
function logWith(read: (page: () => Promise<LogPage | undefined>) => Promise<LogPage | undefined>): EventLog {
  const { events } = memoryStore();
  if (!events) throw new Error('The memory store has no event log.');
  void events.begin(KEY, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
  const texts = [0, 1].map((sequence) => eventText({ type: 'keepalive', sequence } as never));
  void events.append(KEY, { epoch: 1, from: 0, events: texts, state: '' });
  return { ...events, read: (key, after, maxBytes) => read(async () => events.read(key, after, maxBytes)) };
}

function following(log: EventLog) {
  const gone = new AbortController();
  const life = { signal: gone.signal, place: undefined, leave() {}, whenOver() {} };
  const watch = new LogWatch(log, () => {});
  const followed = { watch, key: KEY, recent: () => undefined, onWritten: () => () => {}, isStored: async () => true };
  return new LogFollower(followed, { after: -1, reader, life, heartbeatMs: BEAT_MS });
}

describe('a client that follows a log', () => {
  it('[S-18] gets a heartbeat while the store takes its time, and the events once it asks for more', async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const follower = following(logWith(async (page) => answered.then(page)));
    const first = follower.next();
    await jest.advanceTimersByTimeAsync(BEAT_MS);
    answer();
    // The client is slow: nothing may be handed to it that it did not ask for, or be lost.
    await jest.advanceTimersByTimeAsync(1000);
    const [{ value: beat }, { value: events }] = [await first, await follower.next()];
    await follower.return();
    expect([beat, events]).toEqual(['heartbeat;', 'keepalive;keepalive;']);
  });

  it('[S-18] gets its heartbeats while the store is away, and then the events', async () => {
    let isAway = true;
    const follower = following(logWith((page) => (isAway ? Promise.reject(new Error('away')) : page())));
    const seen: unknown[] = [];
    for (let beats = 0; beats < 2; beats += 1) {
      const next = follower.next();
      await jest.advanceTimersByTimeAsync(BEAT_MS + 100);
      seen.push((await next).value);
    }
    isAway = false;
    const next = follower.next();
    await jest.advanceTimersByTimeAsync(2000);
    seen.push((await next).value);
    await follower.return();
    expect(seen).toEqual(['heartbeat;', 'heartbeat;', 'keepalive;keepalive;']);
  });

  it('[S-18] learns at once of events that are missing in the middle', async () => {
    const torn = logWith(async (page) => {
      const found = await page();
      return found && { ...found, events: [] };
    });
    const follower = following(torn);
    const next = follower.next();
    await jest.advanceTimersByTimeAsync(1);
    expect([(await next).value, (await follower.next()).done]).toEqual(['error store_error;', true]);
  });
});
