/** Event logs in SQLite: one row for each, and one for each of their events. */
import type { ClaimedLog, LogAppend, LogHead, LogPage, NewEventLog } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { originalText, storableText } from '../../protocol/json/storable-text.ts';
import { toLogHead } from '../store-parts.ts';
import { prepareStatements, readRows, runStatement, type SqliteDatabase } from './database.ts';
import { keyColumns } from './responses.ts';

/** Integers, which a connection may return as `bigint`. */
interface HeadRow {
  readonly number: number;
  readonly epoch: number;
  readonly next: number;
  /** 0 or 1. */
  readonly ended: number;
}

interface ClaimedRow {
  readonly request: string;
  readonly state: string;
}

interface PageRow extends HeadRow {
  /** Null if there is no event to read. */
  readonly body: string | null;
}

/** The request is kept as an event before the first: an append, which replaces the state, must not write it again. */
const REQUEST = -1;

/** The queries and changes of the store; the caller provides times and transactions. */
export class SqliteEvents {
  private readonly statements: ReturnType<typeof prepareEvents>;

  constructor(database: SqliteDatabase) {
    this.statements = prepareEvents(database);
  }

  begin(key: ResponseKey, { epoch, request, expiresAt }: NewEventLog): void {
    this.remove(this.row(key, Number.MIN_SAFE_INTEGER));
    this.statements.insert.run(...keyColumns(key), expiresAt, epoch);
    const row = this.row(key, Number.MIN_SAFE_INTEGER);
    if (row) this.add(row, REQUEST, request);
  }

  append(key: ResponseKey, { epoch, from, events, state, endsUntil }: LogAppend, now: number): boolean {
    const row = this.row(key, now);
    const head = row && toLogHead(row);
    if (!head || head.ended || head.epoch !== epoch || head.next !== from) return false;
    for (const [index, text] of events.entries()) this.add(row, from + index, text);
    const [next, ended] = [from + events.length, endsUntil === undefined ? 0 : 1];
    return runStatement(this.statements.update, next, storableText(state), ended, endsUntil ?? null, row.number);
  }

  claim(key: ResponseKey, epoch: number, now: number): ClaimedLog | undefined {
    const row = this.row(key, now);
    if (!row || !runStatement(this.statements.claim, epoch, row.number, epoch)) return undefined;
    const [{ request, state } = { request: '', state: '' }] = readRows<ClaimedRow>(this.statements.claimed, row.number);
    const head = toLogHead(row);
    return head && { ...head, epoch, request: originalText(request), state: originalText(state) };
  }

  end(key: ResponseKey, epoch: number, until: number, now: number): boolean {
    return runStatement(this.statements.end, epoch, until, ...keyColumns(key), now, epoch);
  }

  read(key: ResponseKey, after: number, maxBytes: number, now: number): LogPage | undefined {
    const rows = readRows<PageRow>(this.statements.read, ...keyColumns(key), now, after + 1, maxBytes);
    const [first] = rows;
    const head = first && toLogHead(first);
    if (!head) return undefined;
    const events = rows.flatMap(({ body }) => (body === null ? [] : originalText(body)));
    return { ...head, from: Math.min(after + 1, head.next), events };
  }

  heads(keys: readonly ResponseKey[], now: number): readonly (LogHead | undefined)[] {
    return keys.map((key) => {
      const row = this.row(key, now);
      return row && toLogHead(row);
    });
  }

  delete(key: ResponseKey, now: number): boolean {
    return this.remove(this.row(key, now));
  }

  /** Removes one expired log, with its events. */
  sweep(now: number): void {
    this.remove(readRows<HeadRow>(this.statements.expired, now)[0]);
  }

  private row(key: ResponseKey, now: number): HeadRow | undefined {
    return readRows<HeadRow>(this.statements.find, ...keyColumns(key), now)[0];
  }

  private add({ number }: HeadRow, place: number, text: string): void {
    const body = storableText(text);
    this.statements.add.run(number, place, Buffer.byteLength(body), body);
  }

  private remove(row: HeadRow | undefined): boolean {
    if (!row) return false;
    this.statements.removeEvents.run(row.number);
    return runStatement(this.statements.remove, row.number);
  }
}

function prepareEvents(database: SqliteDatabase) {
  const table = 'open_responses_event_logs';
  const events = 'open_responses_events';
  const head = 'number, epoch, next, ended';
  const living = 'scope = ? AND id = ? AND expires_at > ?';
  return prepareStatements(database, {
    find: `SELECT ${head} FROM ${table} WHERE ${living}`,
    expired: `SELECT ${head} FROM ${table} WHERE expires_at <= ? LIMIT 1`,
    insert: `INSERT INTO ${table} (scope, id, expires_at, epoch, next, ended, state) VALUES (?, ?, ?, ?, 0, 0, '""')`,
    update: `UPDATE ${table} SET next = ?, state = ?, ended = ?, expires_at = coalesce(?, expires_at) WHERE number = ?`,
    claim: `UPDATE ${table} SET epoch = ? WHERE number = ? AND epoch < ?`,
    claimed: `SELECT body AS request, state FROM ${table} JOIN ${events} ON log = number AND place = ${REQUEST} WHERE number = ?`,
    end: `UPDATE ${table} SET epoch = ?, ended = 1, expires_at = ? WHERE ${living} AND epoch < ?`,
    remove: `DELETE FROM ${table} WHERE number = ?`,
    add: `INSERT INTO ${events} (log, place, bytes, body) VALUES (?, ?, ?, ?)`,
    // Event by event, which ends where the page is full; one statement, so that all of it is one snapshot.
    read: `WITH RECURSIVE head AS (SELECT ${head} FROM ${table} WHERE ${living}),
       page (place, bytes, body) AS (
         SELECT own.place, own.bytes, own.body FROM head JOIN ${events} AS own ON own.log = head.number AND own.place = ?
         UNION ALL
         SELECT own.place, page.bytes + own.bytes, own.body
         FROM page CROSS JOIN head JOIN ${events} AS own ON own.log = head.number AND own.place = page.place + 1
         WHERE page.bytes + own.bytes <= ?)
       SELECT epoch, next, ended, body FROM head LEFT JOIN page ORDER BY place`,
    removeEvents: `DELETE FROM ${events} WHERE log = ?`,
  });
}
