/** How soon a process sees what another one did to a response: it looks at the logs of all at fixed times. */
import { jest } from '@jest/globals';
import { LogWatch } from '../../../src/apis/background/log-watch.ts';
import { LogKeeper } from '../../../src/apis/background/run-keeper.ts';
import type { EventLog, LogHead } from '../../../src/ports/background/event-log.ts';
import type { ResponseKey } from '../../../src/ports/store.ts';
import { memoryStore } from '../../../src/stores/memory/memory-store.ts';
import { gate } from '../../support/gate.ts';

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

function watchOf(log: EventLog): LogWatch {
  return new LogWatch(log, (error) => {
    throw error;
  });
}

function keeperOf(watch: LogWatch, key: ResponseKey, epoch: number): LogKeeper {
  const host = { eventsTtlMs: DAY_MS, deadline: Date.now() + DAY_MS, onError() {} };
  return new LogKeeper({ watch, key, epoch, next: 0, state: { tries: 1 } }, host, true);
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
    const stop = keeperOf(watchOf(log), keyOf(0), 1).watch(() => lost.push('lost'));
    await jest.advanceTimersByTimeAsync(10_000);
    const before = [...lost];
    await act(log, keyOf(0));
    await jest.advanceTimersByTimeAsync(500);
    stop();
    expect([before, lost.length > 0, jest.getTimerCount()]).toEqual([[], true, 0]);
  });

  it.each([
    ['that was asked for', (answer: (LogHead | undefined)[]) => answer],
    ['that was not there yet', (answer: (LogHead | undefined)[]) => answer.map(() => undefined)],
  ])('[S-18] [X-08] has not lost one by a position %s before it took that over', async (_, read) => {
    const { log } = countedLog();
    await begun(log, keyOf(0));
    const late = gate();
    let asked = 0;
    const heads = async (keys: readonly ResponseKey[]) => {
      asked += 1;
      const answer = read([...(await log.heads(keys))]);
      if (asked === 1) await late.opened;
      return asked === 1 ? answer : log.heads(keys);
    };
    const watch = watchOf({ ...log, heads });
    const heard: (LogHead | undefined)[] = [];
    const stops = [watch.watch(keyOf(0), (head) => heard.push(head))];
    await jest.advanceTimersByTimeAsync(300);
    await log.claim(keyOf(0), 2);
    const lost: string[] = [];
    stops.push(keeperOf(watch, keyOf(0), 2).watch(() => lost.push('lost')));
    late.open();
    await jest.advanceTimersByTimeAsync(1000);
    for (const stop of stops) stop();
    expect([heard.length > 1, lost]).toEqual([true, []]);
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
