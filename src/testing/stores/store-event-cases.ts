/** The store contract on writing event logs: events in order, and one writer at a time. */
import type { ClaimedLog, EventLog } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import type { StoreCase } from './store-case.ts';
import {
  assertEqual,
  assertLog,
  assertNoLog,
  beginFreshLog,
  beginLog,
  eventCase,
  logBatch,
  texts,
  timeIn,
} from './store-event-case.ts';

/** How many writers append or claim at the same time. */
const RIVALS = 50;

/** The cases about appends. */
const appendCases: readonly StoreCase[] = [
  eventCase('begins a log without events', async (subject) => {
    const key = await beginFreshLog(subject, { epoch: 7 });
    await assertLog(subject.events, key, { epoch: 7, next: 0, ended: false });
    assertEqual(await claimed(subject.events, key, 8), { request: 'the request', state: '', next: 0, ended: false });
  }),
  eventCase('appends events in order, and keeps the newest state', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const answers = [];
    for (const each of [logBatch(0, 1), logBatch(1, 3), logBatch(4, 2)]) answers.push(await events.append(key, each));
    assertEqual(answers, [true, true, true]);
    await assertLog(events, key, { epoch: 1, next: 6, ended: false });
    assertEqual(await claimed(events, key, 2), { request: 'the request', state: 'state 6', next: 6, ended: false });
  }),
  eventCase('replaces only the state if there are no events', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    await events.append(key, logBatch(0, 2));
    const answers = [
      await events.append(key, logBatch(2, 0, { state: 'newer' })),
      await events.append(key, logBatch(1, 0, { state: 'refused' })),
    ];
    await assertLog(events, key, { epoch: 1, next: 2, ended: false });
    assertEqual([answers, (await claimed(events, key, 2))?.state], [[true, false], 'newer']);
  }),
  eventCase('[F-10] refuses events after a gap, or a second time, and writes nothing of them', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    await events.append(key, logBatch(0, 3));
    const answers = [];
    for (const from of [0, 2, 4, 100]) {
      answers.push(await events.append(key, logBatch(from, 2, { state: 'refused', endsUntil: timeIn(subject) })));
    }
    assertEqual(answers, [false, false, false, false]);
    await assertLog(events, key, { epoch: 1, next: 3, ended: false });
    assertEqual((await claimed(events, key, 2))?.state, 'state 3');
  }),
  eventCase('[F-10] refuses the events of a lower and of a higher epoch', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject, { epoch: 5 });
    const answers = [];
    for (const epoch of [4, 6, 1, 5]) answers.push(await events.append(key, logBatch(0, 1, { epoch })));
    assertEqual(answers, [false, false, false, true]);
    await assertLog(events, key, { epoch: 5, next: 1, ended: false });
  }),
  eventCase('[F-10] lets one of many concurrent appends at one position succeed', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const rivals = Array.from({ length: RIVALS }, (_, rival) => [`{"rival":${rival},"event":0}`, `{"rival":${rival}}`]);
    const answers = await Promise.all(
      rivals.map((own, rival) => events.append(key, logBatch(0, 0, { events: own, state: `${rival}` }))),
    );
    const winner = answers.indexOf(true);
    assertEqual(answers.filter((answer) => answer).length, 1);
    await assertLog(events, key, { epoch: 1, next: 2, ended: false }, rivals[winner]);
    assertEqual((await claimed(events, key, 2))?.state, `${winner}`);
  }),
  eventCase('begins a log in place of another, of which nothing is left', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    await events.append(key, logBatch(0, 5, { endsUntil: timeIn(subject) }));
    await beginLog(subject, key, { epoch: 3, request: 'another request' });
    await assertLog(events, key, { epoch: 3, next: 0, ended: false });
    const other = ['{"other":0}', '{"other":1}'];
    const answers = [
      await events.append(key, logBatch(5, 1)),
      await events.append(key, logBatch(0, 0, { epoch: 3, events: other })),
    ];
    assertEqual(answers, [false, true]);
    await assertLog(events, key, { epoch: 3, next: 2, ended: false }, other);
    assertEqual((await claimed(events, key, 4))?.request, 'another request');
  }),
  eventCase('appends thousands of events at once', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    assertEqual(await events.append(key, logBatch(0, 10_000)), true);
    const page = await events.read(key, 9_997, 1_000_000);
    assertEqual([page?.next, page?.events], [10_000, texts(9_998, 10_000)]);
  }),
];

/** The cases about the end of a log and its writer. */
const fencingCases: readonly StoreCase[] = [
  eventCase('[F-10] refuses the earlier writer once another has claimed the log and continues it', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    await events.append(key, logBatch(0, 2));
    assertEqual(await claimed(events, key, 4), { request: 'the request', state: 'state 2', next: 2, ended: false });
    const answers = [await events.append(key, logBatch(2, 1)), await events.append(key, logBatch(2, 2, { epoch: 4 }))];
    assertEqual(answers, [false, true]);
    await assertLog(events, key, { epoch: 4, next: 4, ended: false });
  }),
  eventCase('[F-10] refuses a claim with the log’s own epoch or a lower one', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject, { epoch: 3 });
    assertEqual([await claimed(events, key, 3), await claimed(events, key, 2)], [undefined, undefined]);
    assertEqual(await events.append(key, logBatch(0, 2, { epoch: 3 })), true);
    await assertLog(events, key, { epoch: 3, next: 2, ended: false });
  }),
  eventCase('[F-10] lets one of many concurrent claims with one epoch succeed', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const answers = await Promise.all(Array.from({ length: RIVALS }, () => events.claim(key, 2)));
    assertEqual(answers.filter((answer) => answer !== undefined).length, 1);
  }),
  eventCase('[F-10] compares epochs as numbers', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject, { epoch: 9 });
    const epochs = [10, 9, 100, 20, 2 ** 45];
    const answers = [];
    for (const epoch of epochs) answers.push((await events.claim(key, epoch))?.epoch);
    assertEqual(answers, [10, undefined, 100, undefined, 2 ** 45]);
    await assertLog(events, key, { epoch: 2 ** 45, next: 0, ended: false });
  }),
  eventCase('ends with its last events, and accepts no more', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const answers = [
      await events.append(key, logBatch(0, 2, { endsUntil: timeIn(subject) })),
      await events.append(key, logBatch(2, 1)),
      await events.append(key, logBatch(2, 0, { state: 'refused' })),
    ];
    assertEqual(answers, [true, false, false]);
    await assertLog(events, key, { epoch: 1, next: 2, ended: true });
    assertEqual(await claimed(events, key, 2), { request: 'the request', state: 'state 2', next: 2, ended: true });
    assertEqual(await events.append(key, logBatch(2, 1, { epoch: 2 })), false);
  }),
  eventCase('[F-10] ends without further events only for a higher epoch', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject, { epoch: 2 });
    await events.append(key, logBatch(0, 2, { epoch: 2 }));
    const answers = [
      await events.end(key, 1, timeIn(subject)),
      await events.end(key, 2, timeIn(subject)),
      await events.append(key, logBatch(2, 1, { epoch: 2 })),
      await events.end(key, 3, timeIn(subject)),
      await events.append(key, logBatch(3, 1, { epoch: 2 })),
      await events.append(key, logBatch(3, 1, { epoch: 3 })),
      await events.end(key, 3, timeIn(subject)),
    ];
    assertEqual(answers, [false, false, true, true, false, false, false]);
    await assertLog(events, key, { epoch: 3, next: 3, ended: true });
  }),
  eventCase('[F-10] keeps a log whole when many append to it while another claims it', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const writes = Array.from({ length: 10 }, (_, from) => events.append(key, logBatch(from, 1)));
    const claim = events.claim(key, 2);
    const answers = await Promise.all(writes);
    const next = (await claim)?.next ?? -1;
    await assertLog(events, key, { epoch: 2, next, ended: false });
    assertEqual(answers.filter((answer) => answer).length, next);
  }),
  eventCase('[F-10] deletes a log with its events, and no method brings it back', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    await events.append(key, logBatch(0, 3));
    assertEqual([await events.delete(key), await events.delete(key)], [true, false]);
    await assertNoLog(events, key);
    await beginLog(subject, key);
    await assertLog(events, key, { epoch: 1, next: 0, ended: false });
  }),
  eventCase('[F-10] keeps nothing of a log that is deleted while it is written', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const writes = (from: number) =>
      Array.from({ length: 5 }, (_, index) => events.append(key, logBatch(from + index, 1)));
    await Promise.all([...writes(0), events.delete(key), ...writes(5), events.claim(key, 2)]);
    await assertNoLog(events, key);
    await beginLog(subject, key);
    await assertLog(events, key, { epoch: 1, next: 0, ended: false });
  }),
];

/** The cases about writing. */
export const eventCases: readonly StoreCase[] = [...appendCases, ...fencingCases];

/** What a claim finds, without the epoch, which must be its own. */
async function claimed(
  events: EventLog,
  key: ResponseKey,
  epoch: number,
): Promise<Omit<ClaimedLog, 'epoch'> | undefined> {
  const found = await events.claim(key, epoch);
  if (!found) return undefined;
  assertEqual(found.epoch, epoch);
  const { request, state, next, ended } = found;
  return { request, state, next, ended };
}
