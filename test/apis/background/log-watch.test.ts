/** How soon a process sees what another one did to a response: it looks at the logs of all at fixed times. */
import { jest } from '@jest/globals';
import { LogWatch } from '../../../src/apis/background/log-watch.ts';
import { LogKeeper } from '../../../src/apis/background/run-keeper.ts';
import type { EventLog, LogHead } from '../../../src/ports/background/event-log.ts';
import type { ResponseKey } from '../../../src/ports/store.ts';
import { memoryStore } from '../../../src/stores/memory/memory-store.ts';

const DAY_MS = 86_400_000;

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] }));
afterEach(() => jest.useRealTimers());

/** The log of a fresh store, and how often its positions were asked for. */
function countedLog() {
  const { events } = memoryStore();
  if (!events) throw new Error('The memory store has no event log.');
  const asked: number[] = [];
  const heads = (keys: readonly ResponseKey[]) => {
    asked.push(keys.length);
    return events.heads(keys);
  };
  const log: EventLog = { ...events, heads };
  return { log, asked };
}

function keyOf(index: number): ResponseKey {
  return { scope: 'one', id: `resp_${index}` };
}

async function begun(log: EventLog, key: ResponseKey): Promise<void> {
  await log.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
}

function keeperOf(log: EventLog, key: ResponseKey): LogKeeper {
  const watch = new LogWatch(log, (error) => {
    throw error;
  });
  const host = { eventsTtlMs: DAY_MS, deadline: Date.now() + DAY_MS, onError() {} };
  return new LogKeeper({ watch, key, epoch: 1, next: 0, state: { tries: 1 } }, host, true);
}

describe('a process that runs responses', () => {
  it.each([
    ['cancelled', (log: EventLog, key: ResponseKey) => log.end(key, 2, Date.now() + DAY_MS)],
    ['deleted', (log: EventLog, key: ResponseKey) => log.delete(key)],
    ['taken over', (log: EventLog, key: ResponseKey) => log.claim(key, 2)],
  ])('[S-18] [X-08] sees within half a second that one was %s elsewhere', async (_, act) => {
    const { log } = countedLog();
    await begun(log, keyOf(0));
    const lost: string[] = [];
    const stop = keeperOf(log, keyOf(0)).watch(() => lost.push('lost'));
    await jest.advanceTimersByTimeAsync(10_000);
    const before = [...lost];
    await act(log, keyOf(0));
    await jest.advanceTimersByTimeAsync(500);
    stop();
    expect([before, lost.length > 0, jest.getTimerCount()]).toEqual([[], true, 0]);
  });

  it('[S-18] [X-08] asks for the positions of all of them at once, four times a second', async () => {
    const { log, asked } = countedLog();
    const keys = Array.from({ length: 200 }, (_, index) => keyOf(index));
    const watch = new LogWatch(log, () => {});
    const seen: (LogHead | undefined)[] = [];
    const stops = keys.map((key) => watch.watch(key, (head) => seen.push(head)));
    await jest.advanceTimersByTimeAsync(1000);
    for (const stop of stops) stop();
    expect([asked, seen.length]).toEqual([[200, 200, 200, 200], 800]);
  });

  it('[S-18] [X-08] looks again although the store has failed, and reports that once', async () => {
    const { log } = countedLog();
    await begun(log, keyOf(0));
    const errors: unknown[] = [];
    let isDown = true;
    const heads = (keys: readonly ResponseKey[]) => (isDown ? Promise.reject(new Error('down')) : log.heads(keys));
    const watch = new LogWatch({ ...log, heads }, (error) => errors.push(error));
    const seen: (LogHead | undefined)[] = [];
    const stop = watch.watch(keyOf(0), (head) => seen.push(head));
    await jest.advanceTimersByTimeAsync(500);
    isDown = false;
    await jest.advanceTimersByTimeAsync(500);
    stop();
    expect([errors.length, seen.map((head) => head?.epoch)]).toEqual([1, [1, 1]]);
  });
});
