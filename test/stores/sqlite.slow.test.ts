/** The SQLite store: the contract that every store keeps, several connections, growth, expiry and versions. */
import { type SqliteDatabase, sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { storeContract } from '../../src/testing/index.ts';
import { databaseFile, describeDrivers, type OpenDatabase } from './sqlite-drivers.ts';
import { contractWithClock, stoppedClock, storedResponse } from './stored.ts';

const KEY = { scope: 's', id: 'conv_1' };
const ITEM = { type: 'message', id: 'msg_1', content: 'Hello' };

describeDrivers((open) => {
  describe('in memory', () => {
    contractWithClock((options) => {
      const database = open(':memory:');
      return { store: sqliteStore({ database, ...options }), close: () => database.close() };
    });
  });

  describe('in a file, with the real time', () => {
    storeContract({
      describe,
      it,
      bounded: true,
      create({ ttlMs }) {
        const { file, remove } = databaseFile();
        const database = open(file);
        const close = () => {
          database.close();
          remove();
        };
        return { store: sqliteStore({ database, ttlMs }), close };
      },
    });
  });

  describe('of two connections to one file', () => {
    // What one connection wrote, the other reads: each method takes the next.
    contractWithClock((options) => {
      const { file, remove } = databaseFile();
      const databases = [open(file), open(file)] as const;
      const [writer, reader] = [
        sqliteStore({ database: databases[0], ...options }),
        sqliteStore({ database: databases[1], ...options }),
      ];
      const { put, append } = writer.conversations;
      const { events } = writer;
      const store = {
        ...reader,
        put: writer.put,
        conversations: { ...reader.conversations, put, append },
        events: { ...reader.events, begin: events.begin, append: events.append },
      };
      const close = () => {
        for (const database of databases) database.close();
        remove();
      };
      return { store, close };
    });
  });
});

function withDatabase(open: (file: string) => OpenDatabase, body: (database: OpenDatabase) => unknown): () => void {
  return () => {
    const database = open(':memory:');
    try {
      body(database);
    } finally {
      database.close();
    }
  };
}

/** The one value of the query's one row. */
function valueIn(database: SqliteDatabase, sql: string): unknown {
  const [row] = database.prepare(sql).all();
  return Object.values(row ?? {})[0];
}

describeDrivers((open) => {
  it(
    '[X-06] takes for N turns of a chain N rows, and bytes that grow with N alone',
    withDatabase(open, (database) => {
      const store = sqliteStore({ database });
      // The tables themselves take pages too.
      store.setup();
      const pagesAfter = (from: number, to: number) => {
        for (let turn = from; turn < to; turn += 1) {
          const output = [{ type: 'message', text: 'x'.repeat(2000) }];
          store.put(storedResponse(`resp_${turn}`, { previousId: `resp_${turn - 1}`, output }));
        }
        return Number(valueIn(database, 'PRAGMA page_count'));
      };
      const [start, first, second] = [pagesAfter(0, 0), pagesAfter(0, 200), pagesAfter(200, 400)];
      const growth = (second - first) / (first - start);
      expect([valueIn(database, 'SELECT count(*) FROM open_responses'), growth > 0.9, growth < 1.1]).toEqual([
        400,
        true,
        true,
      ]);
      expect((second * Number(valueIn(database, 'PRAGMA page_size'))) / 400).toBeLessThan(4096 * 1.2);
    }),
  );

  it(
    '[P-16] removes what expired a few rows at a time, at the puts that follow',
    withDatabase(open, (database) => {
      const clock = stoppedClock();
      const store = sqliteStore({ database, ttlMs: 1000, now: clock.now });
      const rows = () => Number(valueIn(database, 'SELECT count(*) FROM open_responses'));
      for (let index = 0; index < 25; index += 1) store.put(storedResponse(`resp_${index}`));
      clock.advance(1000);
      const before = rows();
      const after = ['a', 'b', 'c'].map((id) => {
        store.put(storedResponse(id));
        return rows();
      });
      expect([before, after]).toEqual([25, [16, 7, 3]]);
    }),
  );

  it(
    '[P-16] removes a conversation that expired with its items, whatever is put next',
    withDatabase(open, (database) => {
      const clock = stoppedClock();
      const store = sqliteStore({ database, ttlMs: 1000, now: clock.now });
      const rows = () =>
        ['conversations', 'items', 'turn_parts'].map((name) =>
          valueIn(database, `SELECT count(*) FROM open_responses_${name}`),
        );
      store.conversations.put({ ...KEY, createdAt: 0, metadata: {} });
      store.conversations.append(KEY, [ITEM, { ...ITEM, id: 'msg_2' }], { turn: { id: 'resp_2', epoch: 1 } });
      const before = rows();
      clock.advance(1000);
      store.put(storedResponse('resp_1'));
      expect([before, rows()]).toEqual([
        [1, 2, 1],
        [0, 0, 0],
      ]);
    }),
  );

  it(
    '[P-16] removes an event log that expired with its events, and leaves no row of one that is begun again',
    withDatabase(open, (database) => {
      const clock = stoppedClock();
      const { events, ...store } = sqliteStore({ database, now: clock.now });
      const rows = () =>
        ['event_logs', 'events'].map((name) => valueIn(database, `SELECT count(*) FROM open_responses_${name}`));
      const counts = ['resp_1', 'resp_1', 'resp_2'].map((id) => {
        events.begin({ scope: 's', id }, { epoch: 1, request: 'r', expiresAt: clock.now() + 1000 });
        events.append({ scope: 's', id }, { epoch: 1, from: 0, events: ['{}', '{}'], state: '' });
        return rows();
      });
      clock.advance(1000);
      for (const id of ['resp_3', 'resp_4']) store.put(storedResponse(id));
      // The request is a row, too.
      expect([counts, rows()]).toEqual([
        [
          [1, 3],
          [1, 3],
          [2, 6],
        ],
        [0, 0],
      ]);
    }),
  );

  it(
    'reads a page of an event log without the rest of it: each event by its key, until the page is full',
    withDatabase(open, (database) => {
      const queries: string[] = [];
      const prepare = (sql: string) => {
        queries.push(sql);
        return database.prepare(sql);
      };
      const { events } = sqliteStore({ database: { exec: (sql) => database.exec(sql), prepare } });
      const key = { scope: 's', id: 'resp_1' };
      events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + 1e6 });
      const many = Array.from({ length: 1000 }, (_, index) => JSON.stringify({ index, text: 'x'.repeat(80) }));
      events.append(key, { epoch: 1, from: 0, events: many, state: '' });
      expect(events.read(key, 600, 500)).toMatchObject({ from: 601, events: many.slice(601, 605) });
      const read = queries.find((sql) => sql.includes('page (place')) ?? '';
      const plan = database
        .prepare(`EXPLAIN QUERY PLAN ${read}`)
        .all('s', 'resp_1', 0, 0, 0)
        .map((step) => Object(step).detail);
      const ofEvents = plan.filter((step) => String(step).includes(' own'));
      expect(ofEvents).toEqual(Array(2).fill(expect.stringMatching(/^SEARCH own USING .*\(log=\? AND place=\?\)$/)));
    }),
  );

  it(
    '[P-16] starts a conversation that expired anew, however many others expired with it',
    withDatabase(open, (database) => {
      const clock = stoppedClock();
      const store = sqliteStore({ database, ttlMs: 1000, now: clock.now });
      const made = ['conv_0', 'conv_1', 'conv_2'].map((id) => ({ scope: 's', id, createdAt: 0, metadata: {} }));
      for (const conversation of made) {
        store.conversations.put(conversation);
        store.conversations.append(conversation, [ITEM]);
      }
      clock.advance(1000);
      for (const conversation of made.toReversed()) store.conversations.put(conversation);
      expect(made.map((conversation) => JSON.stringify(store.conversations.items(conversation)))).toEqual([
        '[]',
        '[]',
        '[]',
      ]);
    }),
  );

  it(
    'leaves nothing of an append that fails in the middle, and goes on',
    withDatabase(open, async (database) => {
      const store = sqliteStore({ database });
      const circular: { type: string; self?: unknown } = { type: 'message' };
      circular.self = circular;
      store.conversations.put({ ...KEY, createdAt: 0, metadata: {} });
      expect(() => store.conversations.append(KEY, [ITEM, circular])).toThrow('circular');
      store.conversations.append(KEY, [ITEM]);
      expect(JSON.stringify(store.conversations.items(KEY))).toBe(JSON.stringify([ITEM]));
    }),
  );

  it(
    'waits for the disk at each commit, and for other writers for five seconds',
    withDatabase(open, (database) => {
      sqliteStore({ database }).setup();
      expect(['synchronous', 'busy_timeout'].map((name) => valueIn(database, `PRAGMA ${name}`))).toEqual([2, 5000]);
    }),
  );

  it(
    'keeps a longer wait for other writers that the host has set',
    withDatabase(open, (database) => {
      database.exec('PRAGMA busy_timeout = 9000');
      sqliteStore({ database }).setup();
      expect(valueIn(database, 'PRAGMA busy_timeout')).toBe(9000);
    }),
  );

  it('lets readers read while another connection writes', () => {
    const { file, remove } = databaseFile();
    const [writing, reading] = [open(file), open(file)];
    const store = sqliteStore({ database: reading });
    store.put(storedResponse('resp_1'));
    writing.exec("BEGIN IMMEDIATE; UPDATE open_responses SET body = '{}'");
    const found = store.get(storedResponse('resp_1'));
    writing.exec('ROLLBACK');
    for (const database of [writing, reading]) database.close();
    remove();
    expect(found).toEqual(storedResponse('resp_1'));
  });

  it(
    'leaves the connection open at its close',
    withDatabase(open, (database) => {
      const store = sqliteStore({ database });
      store.put(storedResponse('resp_1'));
      store.close?.();
      expect(valueIn(database, 'SELECT count(*) FROM open_responses')).toBe(1);
    }),
  );

  it(
    'renews the tables of the first version, and keeps what is in them',
    withDatabase(open, (database) => {
      const kept = storedResponse('resp_1', { previousId: 'resp_0' });
      database.exec(FIRST_VERSION);
      database
        .prepare('INSERT INTO open_responses (scope, id, previous_id, expires_at, body) VALUES (?, ?, ?, ?, ?)')
        .run('"s"', '"resp_1"', '"resp_0"', Date.now() + 60_000, JSON.stringify(kept));
      const store = sqliteStore({ database });
      store.setup();
      store.conversations.put({ ...KEY, createdAt: 0, metadata: {} });
      expect([
        store.get(kept),
        store.conversations.get(KEY),
        valueIn(database, 'SELECT version FROM open_responses_schema'),
      ]).toEqual([kept, { ...KEY, createdAt: 0, metadata: {} }, 8]);
    }),
  );

  it(
    '[F-05] renews the tables of the second version: versions count from 0, and conversations know their bytes',
    withDatabase(open, (database) => {
      const kept = storedResponse('resp_1');
      const later = Date.now() + 60_000;
      database.exec(FIRST_VERSION);
      database.exec(SECOND_VERSION);
      const conversation = { ...KEY, createdAt: 0, metadata: {} };
      const add = (table: string, ...values: readonly (string | number)[]) =>
        database.prepare(`INSERT INTO ${table} VALUES (${values.map(() => '?').join()})`).run(...values);
      add('open_responses (scope, id, expires_at, body)', '"s"', '"resp_1"', later, JSON.stringify(kept));
      const [scope, id] = [JSON.stringify(KEY.scope), JSON.stringify(KEY.id)];
      add('open_responses_conversations (scope, id, expires_at, body)', scope, id, later, JSON.stringify(conversation));
      add('open_responses_items (conversation, id, body)', 1, '"é"', '{"type":"message","id":"é"}');
      const store = sqliteStore({ database });
      const { conversations } = store;
      expect([
        store.replace({ ...kept, version: 1 }, 1),
        store.replace({ ...kept, version: 1 }, 0),
        conversations.append(KEY, [ITEM], { maxBytes: 28 + JSON.stringify(ITEM).length - 1 }),
        conversations.append(KEY, [ITEM], { maxBytes: 28 + JSON.stringify(ITEM).length }),
        conversations.find?.(KEY, ['é']),
      ]).toEqual([false, true, 'full', true, [{ type: 'message', id: 'é' }]]);
    }),
  );

  it(
    '[G-10] lists each id once where an earlier release added one twice',
    withDatabase(open, (database) => {
      const { conversations } = sqliteStore({ database });
      conversations.put({ ...KEY, createdAt: 0, metadata: {} });
      const ids = ['a', 'b', 'c'];
      conversations.append(
        KEY,
        ids.map((id) => ({ type: 'message', id })),
      );
      database
        .prepare('INSERT INTO open_responses_items (conversation, id, body) VALUES (1, ?, ?)')
        .run('"a"', '{"id":"a"}');
      const pages = (order: 'asc' | 'desc') =>
        [undefined, ...(order === 'asc' ? ids : ids.toReversed())].map((after) =>
          conversations.page?.(KEY, { limit: 1, order, after }),
        );
      const shown = [...pages('asc'), ...pages('desc')].flatMap((page) => (page && 'items' in page ? page.items : []));
      expect(shown.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'c', 'b', 'a']);
    }),
  );

  it(
    '[G-12] opens tables of a newer release that it may use, and leaves their version as it is',
    withDatabase(open, (database) => {
      sqliteStore({ database }).put(storedResponse('resp_1'));
      database.exec('UPDATE open_responses_schema SET version = 12');
      const store = sqliteStore({ database });
      store.put(storedResponse('resp_2'));
      const version = valueIn(database, 'SELECT version FROM open_responses_schema');
      expect([store.get({ scope: 's', id: 'resp_1' }), version]).toEqual([storedResponse('resp_1'), 12]);
      database.exec('UPDATE open_responses_schema SET compatible_since = 9');
      expect(() => sqliteStore({ database }).setup()).toThrow('made by a newer release');
    }),
  );

  it(
    'refuses tables of a version that it does not know, and leaves them as they are',
    withDatabase(open, (database) => {
      database.exec(
        'CREATE TABLE open_responses_schema (version INTEGER); INSERT INTO open_responses_schema VALUES (9)',
      );
      const store = sqliteStore({ database });
      const error = new Error('sqliteStore: the tables have version 9, made by a newer release; this one knows 8');
      expect(() => store.setup()).toThrow(error);
      expect(() => store.get(KEY)).toThrow(error);
      expect(valueIn(database, 'SELECT count(*) FROM sqlite_master')).toBe(1);
    }),
  );
});

// As the first version made them: what is in users' files may not be changed by changing the code.
const FIRST_VERSION = `
  CREATE TABLE open_responses_schema (version INTEGER NOT NULL);
  INSERT INTO open_responses_schema VALUES (1);
  CREATE TABLE open_responses (
    scope TEXT NOT NULL, id TEXT NOT NULL, previous_id TEXT, expires_at INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (scope, id));
  CREATE INDEX open_responses_expiry ON open_responses (expires_at);`;

const SECOND_VERSION = `
  UPDATE open_responses_schema SET version = 2;
  CREATE TABLE open_responses_conversations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL, id TEXT NOT NULL, expires_at INTEGER NOT NULL, body TEXT NOT NULL,
    UNIQUE (scope, id));
  CREATE INDEX open_responses_conversations_expiry ON open_responses_conversations (expires_at);
  CREATE TABLE open_responses_items (
    place INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL, id TEXT, body TEXT NOT NULL);
  CREATE INDEX open_responses_items_order ON open_responses_items (conversation, place);`;

describe('sqliteStore', () => {
  const database: SqliteDatabase = { exec() {}, prepare: () => ({ all: () => [], run: () => ({ changes: 0 }) }) };

  it.each([
    [{}, 'sqliteStore: database is missing, got undefined'],
    [
      { database: './responses.db' },
      "sqliteStore: database must be a connection with exec() and prepare(), got './responses.db'",
    ],
    [{ database, ttlMs: 0 }, 'sqliteStore: ttlMs must be a positive whole number, got 0'],
    [{ database, now: 5 }, 'sqliteStore: now must be a function, got 5'],
    [{ database, ttl: 5 }, "sqliteStore: unknown option 'ttl'; known are database, ttlMs, now"],
    [null, 'sqliteStore: the options must be an object, got null'],
  ])('refuses %j with a TypeError that names the option and quotes the value', (options, message) => {
    // The cast: a host in JavaScript.
    expect(() => sqliteStore(options as never)).toThrow(new TypeError(message));
  });

  it('refuses a driver that answers later', () => {
    const later = { ...database, prepare: () => ({ all: () => Promise.resolve([]), run: () => Promise.resolve() }) };
    // The cast: a host in JavaScript.
    expect(() => sqliteStore({ database: later as never }).setup()).toThrow(
      new TypeError('sqliteStore: database must be synchronous, as node:sqlite, better-sqlite3 and libsql are'),
    );
  });
});
