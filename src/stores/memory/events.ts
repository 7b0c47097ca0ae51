/** Event logs in the process's memory. */
import type {
  ClaimedLog,
  EventLog,
  LogAppend,
  LogHead,
  LogPage,
  NewEventLog,
} from '../../ports/background/event-log.ts';
import { placeOf, type ResponseKey } from '../../ports/store.ts';
import type { Shelf } from './room.ts';

/** A log; its list of events is shared by all of its versions, because an append must not copy it. */
interface KeptLog {
  readonly epoch: number;
  readonly ended: boolean;
  readonly request: string;
  readonly state: string;
  readonly events: string[];
  /** Of the request and the events. */
  readonly bytes: number;
  readonly expiresAt: number;
}

/** Keeps logs on the shelf; each change makes a log the newest there. */
export function memoryEvents(shelf: Shelf<KeptLog>): EventLog {
  const find = (key: ResponseKey) => shelf.find(placeOf(key));

  /** Throws, and changes nothing, if the log is larger than the room. */
  function keep(key: ResponseKey, log: KeptLog): void {
    const bytes = Buffer.byteLength(log.state) + log.bytes;
    shelf.keep(placeOf(key), log, { id: key.id, bytes, expiresAt: log.expiresAt });
  }

  function begin(key: ResponseKey, { epoch, request, expiresAt }: NewEventLog): void {
    const bytes = Buffer.byteLength(request);
    keep(key, { epoch, request, expiresAt, ended: false, state: '', events: [], bytes });
  }

  function append(key: ResponseKey, { epoch, from, events, state, endsUntil }: LogAppend): boolean {
    const log = find(key);
    if (!log || log.ended || log.epoch !== epoch || log.events.length !== from) return false;
    const bytes = events.reduce((sum, text) => sum + Buffer.byteLength(text), log.bytes);
    const { expiresAt } = log;
    keep(key, { ...log, state, bytes, ended: endsUntil !== undefined, expiresAt: endsUntil ?? expiresAt });
    for (const text of events) log.events.push(text);
    return true;
  }

  function claim(key: ResponseKey, epoch: number): ClaimedLog | undefined {
    const log = ifOlder(find(key), epoch);
    if (!log) return undefined;
    keep(key, { ...log, epoch });
    return { ...headOf({ ...log, epoch }), request: log.request, state: log.state };
  }

  function end(key: ResponseKey, epoch: number, until: number): boolean {
    const log = ifOlder(find(key), epoch);
    if (log) keep(key, { ...log, epoch, ended: true, expiresAt: until });
    return log !== undefined;
  }

  function read(key: ResponseKey, after: number, maxBytes: number): LogPage | undefined {
    const log = find(key);
    if (!log) return undefined;
    const from = Math.min(after + 1, log.events.length);
    return { ...headOf(log), from, events: log.events.slice(from, endOfPage(log.events, from, maxBytes)) };
  }

  return {
    isShared: false,
    begin,
    append,
    claim,
    end,
    read,
    heads: (keys) => keys.map(find).map((log) => log && headOf(log)),
    delete: (key) => shelf.drop(placeOf(key)),
  };
}

function headOf({ epoch, events, ended }: KeptLog): LogHead {
  return { epoch, next: events.length, ended };
}

/** The position after the last event that fits; at least one does. */
function endOfPage(events: readonly string[], from: number, maxBytes: number): number {
  let end = from;
  for (let left = maxBytes; end < events.length && (left > 0 || end === from); end += 1) {
    left -= Buffer.byteLength(events[end] ?? '');
    if (left < 0 && end > from) return end;
  }
  return end;
}

/** The log if its epoch is lower. */
function ifOlder(log: KeptLog | undefined, epoch: number): KeptLog | undefined {
  return log && log.epoch < epoch ? log : undefined;
}
