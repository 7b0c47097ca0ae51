/** The store contract on reading event logs: from any position, whole, in time, and in one scope alone. */
import assert from 'node:assert/strict';
import type { EventLog } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { assertGoes, freshScope, type StoreCase } from './store-case.ts';
import {
  assertEqual,
  assertLog,
  assertNoLog,
  beginFreshLog,
  beginLog,
  type EventSubject,
  eventCase,
  logBatch,
  plainHead,
  texts,
  timeIn,
} from './store-event-case.ts';
import { ODD_IDS, SCRIPTS } from './store-keeping-cases.ts';
import { LOOKALIKES, SEPARATORS } from './store-scope-cases.ts';

// Enough for the steps of a case before the expiry: on a slow machine five logs are begun and ended.
const SOON = 5;
const MEGABYTE = 1_000_000;

/** The cases about positions and sizes. */
const pageCases: readonly StoreCase[] = [
  eventCase('reads from every position, even within events that were appended together', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    for (const each of [logBatch(0, 4), logBatch(4, 1), logBatch(5, 5)]) await events.append(key, each);
    for (let after = -1; after < 10; after += 1) {
      const page = await events.read(key, after, MEGABYTE);
      assertEqual([page?.next, page?.from, page?.events], [10, after + 1, texts(after + 1, 10)]);
    }
  }),
  eventCase('finds a log without events before its first and past its end', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const found = async (after: number) => {
      const page = await events.read(key, after, MEGABYTE);
      return page && { ...plainHead(page), events: page.events };
    };
    const empty = { epoch: 1, next: 0, ended: false, events: [] };
    assertEqual([await found(-1), await found(3)], [empty, empty]);
    await events.append(key, logBatch(0, 3));
    const end = { ...empty, next: 3 };
    assertEqual([await found(2), await found(3), await found(1e9)], [end, end, end]);
  }),
  eventCase('reads page by page without gap or repeat, and always at least one event', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    for (const each of [logBatch(0, 7), logBatch(7, 1), logBatch(8, 12)]) await events.append(key, each);
    const [text = ''] = texts(0, 1);
    for (const maxBytes of [0, 1, text.length - 1, text.length, 3.5 * text.length, 1000 * text.length]) {
      assertEqual(await readAllEvents(events, key, maxBytes), texts(0, 20));
    }
    assertEqual((await events.read(key, 4, 1))?.events, texts(5, 6));
  }),
  eventCase('reads not much more than it was allowed', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject);
    const large = Array.from({ length: 20 }, (_, index) => JSON.stringify({ index, text: 'x'.repeat(10_000) }));
    await events.append(key, logBatch(0, 0, { events: large.slice(0, 15) }));
    await events.append(key, logBatch(15, 0, { events: large.slice(15) }));
    const lengths = [];
    for (const after of [-1, 6, 12]) lengths.push((await events.read(key, after, 45_000))?.events.length ?? 0);
    for (const length of lengths) assert.ok(length >= 1 && length <= 5, `${length} events of 10 kB in a page of 45 kB`);
    assert.ok(
      JSON.stringify(await readAllEvents(events, key, 45_000)) === JSON.stringify(large),
      'the events came back changed',
    );
  }),
  eventCase(
    'keeps text of every script as it was, NUL characters and half surrogate pairs included',
    async (subject) => {
      const { events } = subject;
      const odd = SCRIPTS.join('"');
      const written = [
        ...SCRIPTS.map((text) => JSON.stringify({ text })),
        ...SCRIPTS.map((text) => `"${text}"`),
        '""',
        '0',
      ];
      for (const text of [odd, `"${odd}"`, '"', '']) {
        const key = await beginFreshLog(subject, { request: text });
        await events.append(key, logBatch(0, 0, { events: written, state: text }));
        const claimed = await events.claim(key, 2);
        assertEqual([claimed?.request, claimed?.state, await readAllEvents(events, key, 1)], [text, text, written]);
      }
    },
  ),
  eventCase('keeps an event and a state of 1 MB', async (subject) => {
    const { events } = subject;
    const text = JSON.stringify({ text: 'größer '.repeat(MEGABYTE / 7) });
    const key = await beginFreshLog(subject, { request: text });
    await events.append(key, logBatch(0, 0, { events: [text, '{}', text], state: text }));
    const [read, claimed] = [await readAllEvents(events, key, 10), await events.claim(key, 2)];
    // Not deepEqual, whose difference would be unreadable.
    const isSame = read[0] === text && read[2] === text && claimed?.state === text && claimed.request === text;
    assert.ok(isSame && read[1] === '{}', 'the megabyte came back changed');
  }),
  eventCase(
    'returns the positions of many logs in the order of the keys, and undefined for a missing one',
    async (subject) => {
      const { events } = subject;
      const scope = freshScope();
      const keys = Array.from({ length: 1000 }, (_, index) => ({ scope, id: `resp_${index}` }));
      for (const [index, key] of keys.slice(0, 5).entries()) await beginLog(subject, key, { epoch: index + 1 });
      await events.append(keys[1] ?? { scope, id: '' }, logBatch(0, 3, { epoch: 2, endsUntil: timeIn(subject) }));
      const requestedKeys = [keys[2], keys[999], keys[1], keys[2]].filter((key) => key !== undefined);
      const expected = [3, undefined, 2, 3].map(
        (epoch) => epoch && { epoch, next: epoch === 2 ? 3 : 0, ended: epoch === 2 },
      );
      assertEqual(
        [(await events.heads(requestedKeys)).map((head) => head && plainHead(head)), await events.heads([])],
        [expected, []],
      );
      const all = (await events.heads(keys)).map((head) => head?.epoch ?? 0);
      assertEqual(
        all,
        keys.map((_, index) => (index < 5 ? index + 1 : 0)),
      );
    },
  ),
];

/** The cases about scopes. */
const eventScopeCases: readonly StoreCase[] = [
  eventCase('[P-13] keeps another scope’s log from every method', async (subject) => {
    const { events } = subject;
    const mine = await beginFreshLog(subject);
    const yours = { scope: freshScope(), id: mine.id };
    await assertNoLog(events, yours);
    await events.append(mine, logBatch(0, 2));
    await assertNoLog(events, yours);
    await beginLog(subject, yours, { epoch: 4 });
    await events.append(yours, logBatch(0, 1, { epoch: 4 }));
    assertEqual(await events.delete(yours), true);
    await assertLog(events, mine, { epoch: 1, next: 2, ended: false });
  }),
  eventCase('[P-13] keeps logs apart if their scopes and ids only look alike', async (subject) => {
    const scope = freshScope();
    const odd = ODD_IDS.map((id) => ({ scope, id }));
    const alike = [...new Set(LOOKALIKES.flat())].flatMap((text) => [
      { scope, id: `log ${text}` },
      { scope: `${scope}${text}`, id: 'log' },
    ]);
    const separated = SEPARATORS.flatMap((separator) => [
      { scope, id: `b${separator}c` },
      { scope: `${scope}${separator}b`, id: 'c' },
    ]);
    const keys = [...odd, ...alike, ...separated];
    for (const [index, key] of keys.entries()) await beginLog(subject, key, { epoch: index + 1 });
    const eventsOf = (index: number) => [`{"index":${index}}`];
    for (const [index, key] of keys.entries())
      await subject.events.append(key, logBatch(0, 0, { epoch: index + 1, events: eventsOf(index) }));
    for (const [index, key] of keys.entries())
      await assertLog(subject.events, key, { epoch: index + 1, next: 1, ended: false }, eventsOf(index));
  }),
  eventCase('keeps a log apart from a response and a conversation of the same id', async (subject) => {
    const { store, events } = subject;
    const key = await beginFreshLog(subject);
    await events.append(key, logBatch(0, 1));
    await store.delete(key);
    await store.conversations?.delete(key);
    await assertLog(events, key, { epoch: 1, next: 1, ended: false });
    assertEqual(await store.get(key), undefined);
  }),
];

/** The cases about time. */
const eventExpiryCases: readonly StoreCase[] = [
  eventCase('[P-16] drops a log that does not end before it expires, and no method restores it', async (subject) => {
    const { events } = subject;
    const key = await beginFreshLog(subject, { expiresAt: timeIn(subject, SOON) });
    await events.append(key, logBatch(0, 2));
    await assertLogGoes(subject, key);
    await assertNoLog(events, key);
    await beginLog(subject, key);
    await assertLog(events, key, { epoch: 1, next: 0, ended: false });
  }),
  eventCase('[P-16] keeps a log that ended until the time given then, longer or shorter', async (subject) => {
    const { events } = subject;
    const soon = { expiresAt: timeIn(subject, SOON) };
    const [long, longer, marker] = [
      await beginFreshLog(subject, soon),
      await beginFreshLog(subject, soon),
      await beginFreshLog(subject, soon),
    ];
    const [short, shorter] = [await beginFreshLog(subject), await beginFreshLog(subject)];
    await events.append(long, logBatch(0, 2, { endsUntil: timeIn(subject) }));
    await events.append(short, logBatch(0, 2, { endsUntil: timeIn(subject, SOON) }));
    await events.end(longer, 2, timeIn(subject));
    await events.end(shorter, 2, timeIn(subject, SOON));
    for (const key of [marker, short, shorter]) await assertLogGoes(subject, key);
    await assertLog(events, long, { epoch: 1, next: 2, ended: true });
    await assertLog(events, longer, { epoch: 2, next: 0, ended: true });
  }),
];

/** The cases about reading. */
export const eventReadCases: readonly StoreCase[] = [...pageCases, ...eventScopeCases, ...eventExpiryCases];

/** All events, page by page. */
async function readAllEvents(events: EventLog, key: ResponseKey, maxBytes: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (;;) {
    const page = await events.read(key, found.length - 1, maxBytes);
    assert.ok(page, 'the log is missing');
    if (found.length === page.next) return found;
    assert.ok(page.events.length > 0, `a page after ${found.length - 1} has no event`);
    assertEqual(page.from, found.length);
    found.push(...page.events);
  }
}

/** Waits until the log is gone; fails if it stays. */
async function assertLogGoes({ events, ...subject }: EventSubject, key: ResponseKey): Promise<void> {
  const isThere = (await events.read(key, -1, 1)) !== undefined;
  // Several logs may expire at one time: advancing the test's clock once expires all of them.
  if (isThere) await assertGoes({ ...subject, store: { get: (at) => events.read(at, -1, 1) } }, key, SOON);
  assertEqual(await events.heads([key]), [undefined]);
}
