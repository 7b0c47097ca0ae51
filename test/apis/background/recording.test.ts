/** The events of a response in the background: whoever reads them, from wherever, reads the same. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { type EventReader, type RecordedEvent, Recording } from '../../../src/apis/background/recording.ts';
import type { Run } from '../../../src/apis/background/run.ts';
import { newRuns } from '../../../src/apis/background/runs.ts';
import type { TurnEvent } from '../../../src/protocol/events.ts';

const END = '[end]';

/** Sees texts as they are. */
function reader(): EventReader<string> {
  return {
    readsAll: false,
    read: (event) => event,
    end: () => END,
    fail: (sequence, { code }) => `${sequence}: ${code}${END}`,
  };
}

function recorded(sequence: number, event: string): RecordedEvent<string> {
  return { sequence, event, size: event.length, isRepeated: false };
}

/** Frames of so many events, some with a comment behind them. */
const frames = fc
  .array(fc.boolean(), { maxLength: 30 })
  .map((comments) =>
    comments.flatMap((commented, sequence): readonly RecordedEvent<string>[] => [
      recorded(sequence, `<${sequence}>`),
      ...(commented ? [recorded(sequence, ':')] : []),
    ]),
  );

/** All events from there on. */
async function readAll(recording: Recording<string>, after: number): Promise<string> {
  let text = '';
  for await (const piece of recording.after(after, reader()) ?? []) text += piece;
  return text;
}

const textOf = (frames: readonly RecordedEvent<string>[]) => frames.map(({ event }) => event).join('');

describe('Recording', () => {
  it('[S-18] gives a follower that comes late a piece at a time, and nothing twice', () => {
    const recording = new Recording<string>();
    const texts = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(40_000));
    recording.add(texts.map((text, sequence) => recorded(sequence, text)));
    const pieces = [-1, 1, 3, 4].map((after) => recording.eventsAfter(after));
    expect(pieces).toEqual([texts.slice(0, 2), texts.slice(2, 4), texts.slice(4), []]);
  });

  it('[S-18] sends everybody the same from any event on, whenever they come', async () => {
    const batches = fc.array(fc.nat(5), { minLength: 10, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(frames, batches, fc.integer({ min: -1, max: 35 }), async (frames, sizes, after) => {
        const recording = new Recording<string>();
        const readings = [readAll(recording, after)];
        let added = 0;
        for (const size of sizes) {
          recording.add(frames.slice(added, added + size));
          added += size;
          if (size === 3) await undefined;
          readings.push(readAll(recording, after));
        }
        recording.add(frames.slice(added));
        recording.end();
        const from = frames.findIndex(({ sequence }) => sequence > after);
        const expected = (from < 0 ? '' : textOf(frames.slice(from))) + END;
        expect(await Promise.all([...readings, readAll(recording, after)])).toEqual(
          Array(readings.length + 1).fill(expected),
        );
      }),
    );
  });

  it('[S-18] [P-08] lets the oldest go past its limit, and reports it to whoever wants them', async () => {
    const recording = new Recording<string>(100);
    const slow = recording.after(-1, reader());
    const add = (sequence: number) => recording.add([recorded(sequence, `${sequence}`.padEnd(10))]);
    for (let sequence = 0; sequence < 30; sequence += 1) add(sequence);
    recording.end();
    expect(recording.size).toBeLessThanOrEqual(100);
    expect([recording.after(-1, reader()), recording.after(10, reader())]).toEqual([undefined, undefined]);
    expect(await readAll(recording, 27)).toBe(`${'28'.padEnd(10)}${'29'.padEnd(10)}${END}`);
    let reported = '';
    for await (const piece of slow ?? []) reported += piece;
    expect(reported).toBe(`0: reader_too_slow${END}`);
  });

  it('[S-18] calls each reader in its own async context, and none with what another throws', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const recording = new Recording<string>();
    const read = (name: string, came: () => void) =>
      context.run(name, () => {
        const failed = (error: unknown) => void seen.push([context.getStore(), 'failed', error]);
        recording.after(-1, reader())?.pull({ onChunk: came, onEnd() {}, onError: failed });
      });
    read('broken', () => {
      throw 'broken';
    });
    read('reader', () => void seen.push(context.getStore()));
    context.run('response', () => recording.add([recorded(0, 'a')]));
    expect(seen).toEqual([['broken', 'failed', 'broken'], 'reader']);
  });

  it('[S-18] forgets those who leave', async () => {
    const recording = new Recording<string>();
    const reading = recording.after(-1, reader());
    const waiting = reading?.next();
    await reading?.return();
    recording.add([recorded(0, 'a')]);
    recording.end();
    const reported = await Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, 'nothing'))]);
    expect(reported).toBe('nothing');
  });
});

/** A response of that name that has ended, with so many characters of events. */
function ended(id: string, characters: number): Run {
  const recording = new Recording<TurnEvent>(Number.POSITIVE_INFINITY);
  recording.add([{ sequence: 0, event: { type: 'heartbeat' }, size: characters, isRepeated: false }]);
  recording.end();
  return {
    key: { scope: 's', id },
    recording,
    isLogged: false,
    size: characters,
    output: [],
    readerFor: () => {
      throw new Error('Nobody reads it.');
    },
    stop: async () => {},
    done: Promise.resolve(),
  };
}

describe('newRuns', () => {
  const MIB = 1024 * 1024;
  const TTL_MS = 1000;

  it('[S-18] keeps the events of responses that have ended, up to 64 MiB of them, and the newest longest', async () => {
    const runs = newRuns(TTL_MS);
    for (const id of ['a', 'b', 'c', 'd']) runs.add(ended(id, 30 * MIB));
    await undefined;
    const found = ['a', 'b', 'c', 'd'].map((id) => runs.find({ scope: 's', id }) !== undefined);
    expect([found, runs.find({ scope: 'other', id: 'd' })]).toEqual([[false, false, true, true], undefined]);
  });

  it('[S-18] [P-08] keeps of a response that has ended nothing but its events', async () => {
    const runs = newRuns(TTL_MS);
    const run = ended('a', 1);
    runs.add(run);
    await undefined;
    const kept = runs.find(run.key);
    expect([kept === run, kept?.recording === run.recording]).toEqual([false, true]);
  });

  it('[S-18] keeps nothing of those that were not streamed', async () => {
    const runs = newRuns(TTL_MS);
    const run = { ...ended('a', 1), recording: undefined };
    runs.add(run);
    expect(runs.find(run.key)).toBe(run);
    await undefined;
    expect(runs.find(run.key)).toBeUndefined();
  });

  it('[S-18] drops the events after their time, and nothing waits for those that are dropped before', async () => {
    jest.useFakeTimers();
    try {
      const runs = newRuns(TTL_MS);
      for (const id of ['a', 'b', 'c']) runs.add(ended(id, 30 * MIB));
      await undefined;
      const waiting = [jest.getTimerCount()];
      runs.forget({ scope: 's', id: 'b' });
      waiting.push(jest.getTimerCount());
      const left = runs.find({ scope: 's', id: 'c' }) !== undefined;
      jest.advanceTimersByTime(TTL_MS);
      expect([waiting, left, runs.find({ scope: 's', id: 'c' })]).toEqual([[2, 1], true, undefined]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('[S-18] has room for others when one was dropped', async () => {
    const runs = newRuns(TTL_MS);
    const add = async (...ids: readonly string[]) => {
      for (const id of ids) runs.add(ended(id, 30 * MIB));
      await undefined;
    };
    await add('a', 'b');
    runs.forget({ scope: 's', id: 'b' });
    await add('c');
    expect(['a', 'b', 'c'].map((id) => runs.find({ scope: 's', id }) !== undefined)).toEqual([true, false, true]);
  });
});
