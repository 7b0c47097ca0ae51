/** What the writer of a log does once it has given up a write. */
import { LogWriter } from '../../../src/apis/background/log-writer.ts';
import type { EventLog } from '../../../src/ports/background/event-log.ts';
import type { TurnEvent } from '../../../src/protocol/events.ts';
import { memoryStore } from '../../../src/stores/memory/memory-store.ts';

const KEY = { scope: 'one', id: 'resp_1' };
const progress = (sequence: number): TurnEvent => ({ type: 'turn-progress', sequence });

it('[S-18] writes nothing behind events that were given up, although the store answers again', async () => {
  const { events } = memoryStore();
  await events.begin(KEY, { epoch: 1, request: '', expiresAt: Date.now() + 60_000 });
  let isDown = true;
  const append: EventLog['append'] = async (...given) => {
    if (isDown) throw new Error('down');
    return events.append(...given);
  };
  const opened = { log: { ...events, append }, key: KEY, epoch: 1, next: 0, state: { tries: 1 } };
  const host = { eventsTtlMs: 1000, deadline: Date.now(), onWritten() {}, onLost() {}, onError() {} };
  const writer = new LogWriter(opened, host);
  await writer.add([progress(0)], undefined);
  await expect(writer.flush()).rejects.toThrow('down');
  isDown = false;
  await expect(writer.add([progress(1)], undefined)).rejects.toThrow('down');
  await expect(writer.flush()).rejects.toThrow('down');
  expect(await events.heads([KEY])).toEqual([{ epoch: 1, next: 0, ended: false }]);
});
