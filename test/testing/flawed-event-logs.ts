/** Event logs with one flaw each, which the contract of stores must find. */
import type { EventLog, LogAppend } from '../../src/ports/background/event-log.ts';
import type { ResponseKey } from '../../src/ports/store.ts';

/** Appends as this log does, after a look at where it stands: as a log would that has no atomic append. */
function appendsAnyway(alter: (append: LogAppend, head: { epoch: number; next: number }) => LogAppend) {
  return (log: EventLog): Partial<EventLog> => ({
    async append(key, append) {
      const [head] = await log.heads([key]);
      return head !== undefined && log.append(key, alter(append, head));
    },
  });
}

/** Looks and then appends, wherever the log ends by then. */
function looksFirst(log: EventLog): Partial<EventLog> {
  return {
    async append(key, append) {
      const [head] = await log.heads([key]);
      if (!head || head.epoch !== append.epoch || head.next !== append.from || head.ended) return false;
      if (await log.append(key, append)) return true;
      const [now = head] = await log.heads([key]);
      return log.append(key, { ...append, from: now.next });
    },
  };
}

/** Keeps every log under another key. */
function spelt(spell: (key: ResponseKey) => ResponseKey) {
  return (log: EventLog): EventLog => ({
    isShared: log.isShared,
    begin: (key, made) => log.begin(spell(key), made),
    append: (key, append) => log.append(spell(key), append),
    claim: (key, epoch) => log.claim(spell(key), epoch),
    end: (key, epoch, until) => log.end(spell(key), epoch, until),
    read: (key, after, maxBytes) => log.read(spell(key), after, maxBytes),
    heads: (keys) => log.heads(keys.map(spell)),
    delete: (key) => log.delete(spell(key)),
  });
}

/** One method takes the id for the whole key, whatever the scope. */
function leaks(method: 'append' | 'claim' | 'end' | 'read' | 'delete') {
  return (log: EventLog): Partial<EventLog> => {
    const scopes = new Map<string, ResponseKey>();
    const found = ({ scope, id }: ResponseKey) => scopes.get(id) ?? { scope, id };
    return {
      begin(key, made) {
        scopes.set(key.id, scopes.get(key.id) ?? { scope: key.scope, id: key.id });
        return log.begin(key, made);
      },
      ...{
        append: { append: (key: ResponseKey, append: LogAppend) => log.append(found(key), append) },
        claim: { claim: (key: ResponseKey, epoch: number) => log.claim(found(key), epoch) },
        end: { end: (key: ResponseKey, epoch: number, until: number) => log.end(found(key), epoch, until) },
        read: { read: (key: ResponseKey, after: number, bytes: number) => log.read(found(key), after, bytes) },
        delete: { delete: (key: ResponseKey) => log.delete(found(key)) },
      }[method],
    };
  };
}

/** Gives what the function makes of each page. */
function pages(alter: (events: readonly string[], after: number) => readonly string[]) {
  return (log: EventLog): Partial<EventLog> => ({
    async read(key, after, maxBytes) {
      const page = await log.read(key, after, maxBytes);
      return page && { ...page, events: alter(page.events, after) };
    },
  });
}

/** Keeps what a careless encoding leaves of the events. */
function losesOfEvents(alter: (text: string) => string) {
  return (log: EventLog): Partial<EventLog> => ({
    append: (key, append) => log.append(key, { ...append, events: append.events.map(alter) }),
  });
}

/** Each flaw, a case of the contract that must fail for it, and the methods that have it. */
export const EVENT_FLAWS: readonly (readonly [
  flaw: string,
  failing: string,
  make: (log: EventLog) => Partial<EventLog>,
])[] = [
  [
    'have no fencing',
    '[F-10] refuses the earlier writer once another has claimed the log and continues it',
    appendsAnyway((append, { epoch }) => ({ ...append, epoch })),
  ],
  [
    'refuse lower epochs alone',
    '[F-10] refuses the events of a lower and of a higher epoch',
    appendsAnyway((append, { epoch }) => ({ ...append, epoch: Math.min(append.epoch, epoch) })),
  ],
  [
    'check no position',
    '[F-10] refuses events after a gap, or a second time, and writes nothing of them',
    appendsAnyway((append, { next }) => ({ ...append, from: next })),
  ],
  [
    'check no position without events',
    'replaces only the state if there are no events',
    appendsAnyway((append, { next }) => ({ ...append, from: append.events.length === 0 ? next : append.from })),
  ],
  ['look and then append', '[F-10] lets one of many concurrent appends at one position succeed', looksFirst],
  [
    'keep the first state',
    'appends events in order, and keeps the newest state',
    ({ append }) => ({ append: (key, given) => append(key, given.from > 0 ? { ...given, state: 'state 1' } : given) }),
  ],
  [
    'never end',
    'ends with its last events, and accepts no more',
    ({ append }) => ({ append: (key, { endsUntil: _, ...given }) => append(key, given) }),
  ],
  [
    'keep the time of their beginning',
    '[P-16] keeps a log that ended until the time given then, longer or shorter',
    ({ begin, append }) => {
      const times = new Map<string, number>();
      return {
        begin(key, made) {
          times.set(key.scope, made.expiresAt);
          return begin(key, made);
        },
        append: (key, given) =>
          append(key, given.endsUntil === undefined ? given : { ...given, endsUntil: times.get(key.scope) }),
      };
    },
  ],
  [
    'are kept when they begin anew',
    'begins a log in place of another, of which nothing is left',
    ({ begin, heads }) => ({ begin: async (key, made) => ((await heads([key]))[0] ? undefined : begin(key, made)) }),
  ],
  [
    'let anybody claim them',
    '[F-10] refuses a claim with the log’s own epoch or a lower one',
    ({ claim, heads }) => ({
      async claim(key, epoch) {
        const [head] = await heads([key]);
        const found = await claim(key, Math.max(epoch, (head?.epoch ?? 0) + 1));
        return found && { ...found, epoch };
      },
    }),
  ],
  [
    'let two claim one epoch',
    '[F-10] lets one of many concurrent claims with one epoch succeed',
    ({ claim }) => {
      const claims = new Map<string, ReturnType<typeof claim>>();
      return {
        claim(key, epoch) {
          const place = JSON.stringify([key, epoch]);
          claims.set(place, claims.get(place) ?? claim(key, epoch));
          return claims.get(place);
        },
      };
    },
  ],
  [
    'compare epochs as text',
    '[F-10] compares epochs as numbers',
    ({ claim, heads }) => ({
      async claim(key, epoch) {
        const [head] = await heads([key]);
        return head && `${epoch}` > `${head.epoch}` ? claim(key, epoch) : undefined;
      },
    }),
  ],
  [
    'end for the writer’s own epoch',
    '[F-10] ends without further events only for a higher epoch',
    ({ end, heads }) => ({
      async end(key, epoch, until) {
        const [head] = await heads([key]);
        return end(key, head?.epoch === epoch ? epoch + 1 : epoch, until);
      },
    }),
  ],
  [
    'are made by an append',
    '[F-10] deletes a log with its events, and no method brings it back',
    ({ append, begin, heads }) => ({
      async append(key, given) {
        const [head] = await heads([key]);
        if (!head) await begin(key, { epoch: given.epoch, request: '', expiresAt: Number.MAX_SAFE_INTEGER });
        return append(key, given);
      },
    }),
  ],
  [
    'always say that they were deleted',
    '[F-10] deletes a log with its events, and no method brings it back',
    (log) => ({ delete: async (key) => (await log.delete(key)) || true }),
  ],
  [
    'read from the beginning of a batch',
    'reads from every position, even within events that were appended together',
    (log) => ({ read: (key, after, maxBytes) => log.read(key, after - ((after + 1) % 4), maxBytes) }),
  ],
  [
    'give a page from its second event',
    'reads from every position, even within events that were appended together',
    pages((events) => events.slice(1)),
  ],
  [
    'read nothing where nothing fits',
    'reads page by page without gap or repeat, and always at least one event',
    (log) => ({
      async read(key, after, maxBytes) {
        const page = await log.read(key, after, maxBytes);
        const [first = ''] = page?.events ?? [];
        return page && first.length > maxBytes ? { ...page, events: [] } : page;
      },
    }),
  ],
  [
    'ignore the bytes allowed',
    'reads not much more than it was allowed',
    ({ read }) => ({ read: (key, after) => read(key, after, 1e9) }),
  ],
  [
    'drop NUL',
    'keeps text of every script as it was, NUL characters and half surrogate pairs included',
    losesOfEvents((text) => text.replaceAll('\u0000', '')),
  ],
  [
    'write JSON anew',
    'keeps text of every script as it was, NUL characters and half surrogate pairs included',
    losesOfEvents((text) => Buffer.from(text).toString()),
  ],
  [
    'cut a large event',
    'keeps an event and a state of 1 MB',
    losesOfEvents((text) => (text.length > 900_000 ? `${text.slice(0, 900_000)}"}` : text)),
  ],
  [
    'give positions without the missing ones',
    'returns the positions of many logs in the order of the keys, and undefined for a missing one',
    ({ heads }) => ({ heads: async (keys) => (await heads(keys)).filter((head) => head !== undefined) }),
  ],
  [
    'give the positions of a hundred',
    'returns the positions of many logs in the order of the keys, and undefined for a missing one',
    ({ heads }) => ({ heads: (keys) => heads(keys.slice(0, 100)) }),
  ],
  ['have no scopes', '[P-13] keeps another scope’s log from every method', spelt(({ id }) => ({ scope: '', id }))],
  ...(['append', 'claim', 'end', 'read', 'delete'] as const).map(
    (method) =>
      [`${method} across scopes`, '[P-13] keeps another scope’s log from every method', leaks(method)] as const,
  ),
  [
    'join scope and id by a colon',
    '[P-13] keeps logs apart if their scopes and ids only look alike',
    spelt(({ scope, id }) => ({ scope: '', id: `${scope}:${id}` })),
  ],
  [
    'ignore case',
    '[P-13] keeps logs apart if their scopes and ids only look alike',
    spelt(({ scope, id }) => ({ scope, id: id.toLowerCase() })),
  ],
  [
    'never expire',
    '[P-16] drops a log that does not end before it expires, and no method restores it',
    ({ begin }) => ({ begin: (key, made) => begin(key, { ...made, expiresAt: Number.MAX_SAFE_INTEGER }) }),
  ],
];
