/** Event logs in PostgreSQL: one row each, and one row for some of their events, as they were appended. */
import type { EventLog, LogAppend, LogPage } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { joinTexts, originalText, splitTexts, storableText } from '../../protocol/json/storable-text.ts';
import { boundedInteger, digestBytes, toLogHead } from '../store-parts.ts';
import { AppendBatches, type KeyedAppend } from './append-batches.ts';
import type { PostgresPlace } from './responses.ts';
import type { PostgresTables } from './schema.ts';

/** Events that are appended together share rows of about so many characters: a page reads whole rows. */
const ROW_SIZE = 65_536;

/** The driver returns integers of 64 bits as strings; null if there is no log. */
interface HeadRow {
  readonly epoch: string | null;
  readonly next: string;
  readonly ended: boolean;
}

interface ClaimedRow extends HeadRow {
  readonly request: string;
  readonly state: string;
}

interface PageRow extends HeadRow {
  /** Null if there is no event to read. */
  readonly from_sequence: string | null;
  readonly events: string;
}

/** Keeps each log until the time that its writer gives. */
export function postgresEvents({ queries, tables, now }: PostgresPlace): EventLog {
  const sql = eventStatements(tables);
  const run = async (text: string, { scope, id }: ResponseKey, ...more: readonly unknown[]) =>
    (await queries.query(text, [digestBytes(scope), digestBytes(id), now(), ...more])).rows;
  const batches = new AppendBatches(async (appends) => {
    const { rows } = await queries.query(sql.append, [now(), ...appendColumns(appends)]);
    // The cast: this is the column.
    return new Set(rows.map((row) => Number((row as { readonly place: string }).place)));
  });

  return {
    isShared: true,
    async begin({ scope, id }, { epoch, request, expiresAt }) {
      const values = [digestBytes(scope), digestBytes(id), boundedInteger(expiresAt), epoch, storableText(request)];
      await queries.query(sql.begin, values);
    },
    append: (key, append) => batches.append(key, append),
    async claim(key, epoch) {
      // The cast: these are the columns.
      const [row] = (await run(sql.claim, key, epoch)) as readonly ClaimedRow[];
      const head = row && toLogHead(row);
      return head && { ...head, request: originalText(row.request), state: originalText(row.state) };
    },
    async end(key, epoch, until) {
      return (await run(sql.end, key, epoch, boundedInteger(until))).length > 0;
    },
    async read(key, after, maxBytes) {
      // The cast: these are the columns.
      const rows = (await run(sql.read, key, after + 1, boundedInteger(maxBytes))) as readonly PageRow[];
      return toLogPage(rows, after + 1, maxBytes);
    },
    async heads(keys) {
      const [scopes, ids] = [keys.map(({ scope }) => digestBytes(scope)), keys.map(({ id }) => digestBytes(id))];
      const { rows } = await queries.query(sql.heads, [scopes, ids, now()]);
      // The cast: these are the columns.
      return (rows as readonly HeadRow[]).map(toLogHead);
    },
    async delete(key) {
      return (await run(sql.delete, key)).length > 0;
    },
  };
}

/** The columns of the changed logs, and those of the rows of their events, which name their log by its index. */
function appendColumns(appends: readonly KeyedAppend[]): readonly (readonly unknown[])[] {
  const logs = appends.map(({ key: { scope, id }, append: { epoch, from, events, state, endsUntil } }, place) => {
    const until = endsUntil === undefined ? null : boundedInteger(endsUntil);
    return [place, digestBytes(scope), digestBytes(id), epoch, from, from + events.length, storableText(state), until];
  });
  const rows = appends.flatMap(({ append }, place) => toEventRows(append, place));
  return [...transposeRows(logs, 8), ...transposeRows(rows, 4)];
}

/** The rows of the events: the index of their log, where each row starts and ends, and its text. */
function toEventRows({ events, from }: LogAppend, place: number): readonly (readonly unknown[])[] {
  const rows: (readonly unknown[])[] = [];
  for (let start = 0, end = 0; start < events.length; start = end) {
    end = pageEnd(events, start, ROW_SIZE);
    rows.push([place, from + start, from + end, joinTexts(events.slice(start, end))]);
  }
  return rows;
}

/** Rows turned into so many columns. */
function transposeRows(rows: readonly (readonly unknown[])[], count: number): readonly (readonly unknown[])[] {
  return Array.from({ length: count }, (_, index) => rows.map((row) => row[index]));
}

/** The index after the last event that fits; at least one does. */
function pageEnd(events: readonly string[], start: number, maxBytes: number): number {
  let left = maxBytes;
  for (let index = start; index < events.length; index += 1) {
    left -= Buffer.byteLength(events[index] ?? '');
    if (left < 0) return Math.max(index, start + 1);
  }
  return events.length;
}

/** The first row may begin before `from`. */
function toLogPage(rows: readonly PageRow[], from: number, maxBytes: number): LogPage | undefined {
  const [first] = rows;
  const head = first && toLogHead(first);
  if (!head) return undefined;
  if (first.from_sequence === null) return { ...head, from: Math.min(from, head.next), events: [] };
  const events = rows.flatMap(({ events: text }) => splitTexts(text)).slice(from - Number(first.from_sequence));
  return { ...head, from, events: events.slice(0, pageEnd(events, 0, maxBytes)) };
}

function eventStatements({ logs, events }: PostgresTables) {
  const living = 'scope = $1 AND id = $2 AND expires_at > $3';
  const head = 'epoch, next, ended';
  const row = 'from_sequence, next_sequence, events, octet_length(events)::bigint AS bytes';
  const own = `scope = $1 AND id = $2 AND generation = head.generation`;
  return {
    // The generation hides events of an earlier log, even if its writer appends some at the same time.
    begin: `
      WITH begun AS (
        INSERT INTO ${logs} (scope, id, expires_at, epoch, request) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (scope, id) DO UPDATE SET expires_at = excluded.expires_at, epoch = excluded.epoch,
          request = excluded.request, generation = ${logs}.generation + 1, next = 0, ended = false, state = ''
        RETURNING generation
      )
      DELETE FROM ${events} AS old USING begun WHERE scope = $1 AND id = $2 AND old.generation < begun.generation`,
    // Whoever waits for a row's lock checks epoch and position again.
    append: `
      WITH head AS (
        UPDATE ${logs} AS log SET next = wanted.next, state = wanted.state, ended = wanted.until IS NOT NULL,
          expires_at = coalesce(wanted.until, log.expires_at)
        FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[])
          AS wanted (place, scope, id, epoch, start, next, state, until)
        WHERE log.scope = wanted.scope AND log.id = wanted.id AND log.expires_at > $1 AND log.epoch = wanted.epoch
          AND log.next = wanted.start AND NOT log.ended
        RETURNING wanted.place, log.scope, log.id, log.generation
      ), added AS (
        INSERT INTO ${events} (scope, id, generation, from_sequence, next_sequence, events)
        SELECT scope, id, generation, from_sequence, next_sequence, events FROM head
        JOIN unnest($10::bigint[], $11::bigint[], $12::bigint[], $13::text[])
          AS new (place, from_sequence, next_sequence, events) USING (place)
      )
      SELECT place FROM head`,
    claim: `UPDATE ${logs} SET epoch = $4 WHERE ${living} AND epoch < $4 RETURNING ${head}, request, state`,
    end: `
      UPDATE ${logs} SET epoch = $4, ended = true, expires_at = $5 WHERE ${living} AND epoch < $4 RETURNING 1`,
    // Row by row over the primary key, so that its cost is that of the returned rows; one statement, so that all of it is one snapshot.
    read: `
      WITH RECURSIVE head AS (SELECT generation, ${head} FROM ${logs} WHERE ${living}),
      page (from_sequence, next_sequence, events, bytes) AS (
        SELECT first.* FROM head CROSS JOIN LATERAL (
          SELECT ${row} FROM ${events} WHERE ${own} AND from_sequence <= $4 ORDER BY from_sequence DESC LIMIT 1
        ) AS first WHERE first.next_sequence > $4
        UNION ALL
        SELECT following.from_sequence, following.next_sequence, following.events, page.bytes + following.bytes
        FROM page CROSS JOIN head CROSS JOIN LATERAL (
          SELECT ${row} FROM ${events} WHERE ${own} AND from_sequence = page.next_sequence LIMIT 1
        ) AS following
        WHERE page.bytes + following.bytes <= $5
      )
      SELECT ${head}, from_sequence, events FROM head LEFT JOIN page ON true ORDER BY from_sequence`,
    // LATERAL with LIMIT, so that no planner reads the whole table.
    heads: `
      SELECT ${head} FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS wanted (scope, id, place)
      LEFT JOIN LATERAL (
        SELECT ${head} FROM ${logs} AS own
        WHERE own.scope = wanted.scope AND own.id = wanted.id AND expires_at > $3 LIMIT 1
      ) AS found ON true ORDER BY place`,
    delete: `DELETE FROM ${logs} WHERE ${living} RETURNING 1`,
  };
}
