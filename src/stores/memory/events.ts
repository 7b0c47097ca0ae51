/** Event logs in the process's memory. */
import type {
  ClaimedLog,
  EventLog,
  LogAppend,
  LogHead,
  LogPage,
  NewEventLog,
} from '../../ports/background/event-log.ts';
import { limitScope } from '../../ports/scope.ts';
import { type ResponseKey, storeKey } from '../../ports/store.ts';
import type { Cache } from './cache-budget.ts';

/** A log; its list of events is shared by all of its versions, because an append must not copy it. */
interface LogEntry {
  readonly epoch: number;
  readonly ended: boolean;
  readonly request: string;
  readonly state: string;
  readonly events: string[];
  /** Of the request and the events. */
  readonly bytes: number;
  readonly expiresAt: number;
}

/** Stores logs in the cache; each change makes a log the newest there. */
export function memoryEvents(cache: Cache<LogEntry>): EventLog {
  const find = (key: ResponseKey) => cache.find(storeKey(key));

  /** Throws, and changes nothing, if the log is larger than the budget. */
  function store(key: ResponseKey, log: LogEntry): void {
    const bytes = Buffer.byteLength(log.state) + log.bytes;
    cache.put(storeKey(key), log, { id: key.id, tenant: limitScope(key.scope), bytes, expiresAt: log.expiresAt });
  }

  function begin(key: ResponseKey, { epoch, request, expiresAt }: NewEventLog): void {
    const bytes = Buffer.byteLength(request);
    store(key, { epoch, request, expiresAt, ended: false, state: '', events: [], bytes });
  }

  function append(key: ResponseKey, { epoch, from, events, state, endsUntil }: LogAppend): boolean {
    const log = find(key);
    if (!log || log.ended || log.epoch !== epoch || log.events.length !== from) return false;
    const bytes = events.reduce((sum, text) => sum + Buffer.byteLength(text), log.bytes);
    const { expiresAt } = log;
    store(key, { ...log, state, bytes, ended: endsUntil !== undefined, expiresAt: endsUntil ?? expiresAt });
    for (const text of events) log.events.push(text);
    return true;
  }

  function claim(key: ResponseKey, epoch: number): ClaimedLog | undefined {
    const log = find(key);
    if (!log || log.epoch >= epoch) return undefined;
    store(key, { ...log, epoch });
    return { ...entryHead({ ...log, epoch }), request: log.request, state: log.state };
  }

  function end(key: ResponseKey, epoch: number, until: number): boolean {
    const log = find(key);
    if (!log || log.epoch >= epoch) return false;
    store(key, { ...log, epoch, ended: true, expiresAt: until });
    return true;
  }

  function read(key: ResponseKey, after: number, maxBytes: number): LogPage | undefined {
    const log = find(key);
    if (!log) return undefined;
    const from = Math.min(after + 1, log.events.length);
    return { ...entryHead(log), from, events: log.events.slice(from, memoryPageEnd(log.events, from, maxBytes)) };
  }

  return {
    isShared: false,
    begin,
    append,
    claim,
    end,
    read,
    heads: (keys) => keys.map(find).map((log) => log && entryHead(log)),
    delete: (key) => cache.remove(storeKey(key)),
  };
}

function entryHead({ epoch, events, ended }: LogEntry): LogHead {
  return { epoch, next: events.length, ended };
}

/** The position after the last event that fits; at least one does. */
function memoryPageEnd(events: readonly string[], from: number, maxBytes: number): number {
  let end = from;
  for (let left = maxBytes; end < events.length && (left > 0 || end === from); end += 1) {
    left -= Buffer.byteLength(events[end] ?? '');
    if (left < 0 && end > from) return end;
  }
  return end;
}
