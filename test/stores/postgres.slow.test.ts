/** The PostgreSQL store: the contract that every store keeps, and what is PostgreSQL's own. */

import { createHash } from 'node:crypto';
import type { Pool, PoolConfig } from 'pg';
import type { ResponseKey, StoredResponse } from '../../src/ports/store.ts';
import {
  type PostgresPool,
  type PostgresStoreOptions,
  postgresStore,
} from '../../src/stores/postgres/postgres-store.ts';
import { migratePostgres, migrateTables, postgresTables } from '../../src/stores/postgres/schema.ts';
import { storeContract } from '../../src/testing/index.ts';
import { mostRowsIn } from '../support/plan-rows.ts';
import { describePostgres, poolOf, postgresPerSuite } from '../support/postgres-server.ts';
import type { Service } from '../support/services.ts';
import { contractWithClock, stoppedClock, storedResponse } from './stored.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

function ids(chain: readonly StoredResponse[]): readonly string[] {
  return chain.map(({ id }) => id);
}

/** How a scope or an id stands in the tables. */
function digest(text: string): Buffer {
  return createHash('sha256').update(JSON.stringify(text)).digest();
}

/** The pool, and what it was asked. */
function watching(pool: PostgresPool) {
  const requested: string[] = [];
  function query(text: string, values?: unknown[]) {
    requested.push(text);
    return pool.query(text, values);
  }
  return { requested, pool: { query, connect: () => pool.connect() } };
}

/** The pool, and the rows that the busiest part of the plan of each statement read. */
function counting(pool: Pool) {
  const mostRows: number[] = [];
  async function query(text: string, values?: unknown[]) {
    const client = await pool.connect();
    if (/^\s*(WITH|SELECT)/.test(text)) {
      await client.query('BEGIN');
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      await client.query('ROLLBACK');
      mostRows.push(mostRowsIn(rows));
    }
    return client.query(text, values).finally(() => client.release());
  }
  return { mostRows, pool: { query, connect: () => pool.connect() } };
}

describePostgres('[X-06] postgresStore', () => {
  let server: Service;
  let pool: Pool;
  let prefixes = 0;

  postgresPerSuite((started, connected) => {
    server = started;
    pool = connected;
  });

  function connect(config?: PoolConfig): Pool {
    return poolOf(server, config);
  }

  /** A prefix that no other case uses. */
  function freshPrefix(): string {
    prefixes += 1;
    return `case${prefixes}_`;
  }

  async function count(table: string): Promise<number> {
    const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${table}`);
    return rows[0].count;
  }

  describe('in real time', () => {
    storeContract({ describe, it, bounded: true, create: ({ ttlMs }) => ({ store: postgresStore({ pool, ttlMs }) }) });
  });

  describe('with a clock of the test', () => {
    contractWithClock((options) => ({ store: postgresStore({ pool, ...options, tablePrefix: 'stopped_' }) }));
  });

  describe('in PostgreSQL', () => {
    it('[P-12] shows one pool at once what the other has put', async () => {
      const second = connect();
      const [one, other] = [postgresStore({ pool }), postgresStore({ pool: second })];
      await one.put(storedResponse('a', { scope: 'two pools' }));
      await other.put(storedResponse('b', { scope: 'two pools', previousId: 'a' }));
      const chain = await one.chain({ scope: 'two pools', id: 'b' }, 10);
      await second.end();
      expect(ids(chain)).toEqual(['b', 'a']);
    });

    it('asks for a chain of 1,000 once, and touches only its rows', async () => {
      const { requested, pool: watched } = watching(pool);
      const store = postgresStore({ pool: watched, tablePrefix: freshPrefix() });
      const turns = Array.from({ length: 1000 }, (_, turn) => storedResponse(`${turn}`, { previousId: `${turn - 1}` }));
      await Promise.all(turns.flatMap((turn) => [store.put(turn), store.put({ ...turn, scope: 'other' })]));
      requested.length = 0;
      const chain = await store.chain({ scope: 's', id: '999' }, 1000);
      const [sql = ''] = requested;
      const { rows } = await pool.query(`EXPLAIN (FORMAT JSON) ${sql}`, [digest('s'), digest('999'), 0, 1000, 1e9]);
      expect([chain.length, requested.length, JSON.stringify(rows).includes('Seq Scan')]).toEqual([1000, 1, false]);
    });

    it('[P-16] deletes what expired in the course of puts, a few at a time', async () => {
      const [clock, tablePrefix] = [stoppedClock(), freshPrefix()];
      const store = postgresStore({ pool, ttlMs: DAY_MS, now: clock.now, tablePrefix });
      const conversation = { scope: 's', id: 'c', createdAt: 0, metadata: {} };
      for (let index = 0; index < 150; index += 1) await store.put(storedResponse(`${index}`));
      await store.conversations.put(conversation);
      await store.conversations.append(conversation, [{ type: 'message' }]);
      clock.advance(DAY_MS);
      const later = postgresStore({ pool, ttlMs: DAY_MS, now: clock.now, tablePrefix });
      const left: number[] = [];
      for (const id of ['first', 'second']) {
        await later.put(storedResponse(id));
        left.push(await count(`${tablePrefix}responses`));
      }
      for (let index = 0; index < 20; index += 1) await later.put(storedResponse('again'));
      left.push(await count(`${tablePrefix}responses`), await count(`${tablePrefix}conversation_items`));
      expect(left).toEqual([51, 52, 3, 0]);
    });

    it('[P-16] gives a conversation no items of an expired one with its id', async () => {
      const clock = stoppedClock();
      const { conversations } = postgresStore({ pool, ttlMs: DAY_MS, now: clock.now, tablePrefix: freshPrefix() });
      const key: ResponseKey = { scope: 's', id: 'c' };
      await conversations.put({ ...key, createdAt: 0, metadata: {} });
      await conversations.append(key, [{ type: 'message' }]);
      clock.advance(DAY_MS);
      await conversations.put({ ...key, createdAt: 1, metadata: {} });
      expect(await conversations.items(key)).toEqual([]);
    });

    it('[P-16] deletes event logs that expired with their events, a few at a time', async () => {
      const [clock, tablePrefix] = [stoppedClock(), freshPrefix()];
      const store = postgresStore({ pool, ttlMs: DAY_MS, now: clock.now, tablePrefix });
      for (let index = 0; index < 30; index += 1) {
        const key = { scope: 's', id: `${index}` };
        await store.events.begin(key, { epoch: 1, request: '', expiresAt: clock.now() + 1000 });
        await store.events.append(key, { epoch: 1, from: 0, events: ['{}', '{}'], state: '' });
      }
      clock.advance(1000);
      await store.put(storedResponse('first'));
      const left = [await count(`${tablePrefix}event_logs`), await count(`${tablePrefix}events`)];
      for (let index = 0; index < 20; index += 1) await store.put(storedResponse('again'));
      left.push(await count(`${tablePrefix}event_logs`), await count(`${tablePrefix}events`));
      expect(left).toEqual([5, 5, 0, 0]);
    });

    it('[F-10] leaves no event of a log that is begun again or deleted while its writer appends', async () => {
      const tablePrefix = freshPrefix();
      const { events } = postgresStore({ pool, tablePrefix });
      const key = { scope: 's', id: 'a' };
      const begin = () => events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
      const append = (from: number) => events.append(key, { epoch: 1, from, events: ['{}'], state: '' });
      const shown: boolean[] = [];
      for (let round = 0; round < 20; round += 1) {
        await begin();
        await Promise.all([append(0), append(1), begin(), append(0), append(1), append(2)]);
        const page = await events.read(key, -1, 1000);
        shown.push(page?.events.length === page?.next);
        await Promise.all([append(page?.next ?? 0), events.delete(key), append((page?.next ?? 0) + 1)]);
      }
      expect([shown.every(Boolean), await count(`${tablePrefix}events`)]).toEqual([true, 0]);
    });

    it('writes an append as one row and one statement, large ones as rows of 64 kB', async () => {
      const { requested, pool: watched } = watching(pool);
      const tablePrefix = freshPrefix();
      const { events } = postgresStore({ pool: watched, tablePrefix });
      const key = { scope: 's', id: 'a' };
      await events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
      requested.length = 0;
      const text = JSON.stringify('x'.repeat(20_000));
      await events.append(key, { epoch: 1, from: 0, events: ['0', '1', '2'], state: '' });
      await events.append(key, {
        epoch: 1,
        from: 3,
        events: [text, text, text, text, text.repeat(5), text],
        state: '',
      });
      const { rows } = await pool.query(
        `SELECT from_sequence::int, next_sequence::int FROM ${tablePrefix}events ORDER BY from_sequence`,
      );
      const spans = rows.map(({ from_sequence: from, next_sequence: next }) => [from, next]);
      expect([requested.length, spans]).toEqual([
        2,
        [
          [0, 3],
          [3, 6],
          [6, 7],
          [7, 8],
          [8, 9],
        ],
      ]);
    });

    it('fails, of appends that share a statement, only the one with a value that the database refuses', async () => {
      const { requested, pool: watched } = watching(pool);
      const tablePrefix = freshPrefix();
      const { events } = postgresStore({ pool: watched, tablePrefix });
      const keys = ['a', 'b', 'c'].map((id) => ({ scope: 's', id }));
      for (const key of keys) await events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
      await pool.query(`ALTER TABLE ${tablePrefix}event_logs ADD CHECK (state <> 'of b')`);
      requested.length = 0;
      const append = (key: ResponseKey) =>
        Promise.resolve(events.append(key, { epoch: 1, from: 0, events: ['{}'], state: `of ${key.id}` }));
      const answers = await Promise.all(keys.map((key) => append(key).catch(() => 'failed')));
      const heads = await events.heads(keys);
      expect([answers, heads.map((head) => head?.next)]).toEqual([
        [true, 'failed', true],
        [1, 0, 1],
      ]);
      expect(requested.length).toBe(1 + keys.length + 1);
    });

    it('reads of an event log of 20,000 rows only those of the page, and of 1,000 logs only their rows', async () => {
      const { requested, pool: watched } = watching(pool);
      const tablePrefix = freshPrefix();
      const { events } = postgresStore({ pool: watched, tablePrefix });
      const key = { scope: 's', id: 'a' };
      await events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
      // As 20,000 appends would have written them.
      await pool.query(
        `INSERT INTO ${tablePrefix}events SELECT $1, $2, 0, place, place + 1, '{}' FROM generate_series(0, 19999) AS place`,
        [digest('s'), digest('a')],
      );
      await pool.query(`UPDATE ${tablePrefix}event_logs SET next = 20000`);
      await pool.query(
        `INSERT INTO ${tablePrefix}event_logs (scope, id, expires_at, epoch, request)
         SELECT $1, sha256(place::text::bytea), $2, 1, '' FROM generate_series(0, 19999) AS place`,
        [digest('s'), Date.now() + DAY_MS],
      );
      await pool.query('ANALYZE');
      requested.length = 0;
      const page = await events.read(key, 14_999, 20);
      const heads = await events.heads(Array.from({ length: 1000 }, () => key));
      const [read = '', found = ''] = requested;
      const keys = [0, 1].map((at) => Array.from({ length: 1000 }, () => digest(at === 0 ? 's' : 'a')));
      const plans = [
        await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${read}`, [digest('s'), digest('a'), 0, 15_000, 20]),
        await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${found}`, [...keys, 0]),
      ].map(({ rows }) => JSON.stringify(rows));
      const most = plans.map((plan) =>
        Math.max(...[...plan.matchAll(/"Actual Rows":(\d+)/g)].map(([, rows]) => Number(rows))),
      );
      expect([page?.events.length, heads.filter(Boolean).length, most]).toEqual([10, 1000, [10, 1000]]);
      expect(plans.filter((plan) => plan.includes('Seq Scan'))).toEqual([]);
    });

    it('takes the places of an append together while others append to the same conversation', async () => {
      const { conversations } = postgresStore({ pool, tablePrefix: freshPrefix() });
      const key = { scope: 's', id: 'c' };
      await conversations.put({ ...key, createdAt: 0, metadata: {} });
      const appends = Array.from({ length: 100 }, (_, author) =>
        conversations.append(
          key,
          Array.from({ length: 3 }, (_, place) => ({ type: 'message', author, place })),
        ),
      );
      await Promise.all(appends);
      const kept = await conversations.items(key);
      const authors = kept.map(({ author }) => author);
      const whole = authors.filter((_, index) => index % 3 === 0).flatMap((author) => [author, author, author]);
      expect([kept.length, authors, new Set(authors).size]).toEqual([300, whole, 100]);
    });

    it('[F-05] reads of a conversation of 20,000 items only those of the page', async () => {
      const { requested, pool: watched } = watching(pool);
      const { conversations } = postgresStore({ pool: watched, tablePrefix: freshPrefix() });
      const key = { scope: 's', id: 'c' };
      await conversations.put({ ...key, createdAt: 0, metadata: {} });
      const items = Array.from({ length: 20_000 }, (_, index) => ({ type: 'message', id: `msg_${index}` }));
      await conversations.append(key, items);
      await pool.query('ANALYZE');
      requested.length = 0;
      await conversations.page(key, { limit: 2, order: 'asc', after: 'msg_15000' });
      const given = [digest('s'), digest('c'), 0, digest('msg_15000'), null, 3];
      const { rows } = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${requested[0]}`, given);
      const removed = [...JSON.stringify(rows).matchAll(/"Rows Removed by Filter":(\d+)/g)].map(([, count]) =>
        Number(count),
      );
      expect([Math.max(0, ...removed) < 100, JSON.stringify(rows).includes('Seq Scan on case')]).toEqual([true, false]);
    });

    it.each([
      ['of which the database has no statistics', false],
      ['that was short when the database last counted', true],
    ])(
      '[F-05] reads of a conversation of 5,000 items, %s, only what is added, replaced or shown',
      async (_, wasCounted) => {
        const tablePrefix = freshPrefix();
        const { mostRows, pool: counted } = counting(pool);
        const { conversations } = postgresStore({ pool: counted, tablePrefix });
        const { items } = postgresTables(tablePrefix);
        const key = { scope: 's', id: 'c' };
        const messages = (name: string, length: number) =>
          Array.from({ length }, (__, index) => ({ type: 'message', id: `${name}_${index}` }));
        await conversations.put({ ...key, createdAt: 0, metadata: {} });
        await pool.query(`ALTER TABLE ${items} SET (autovacuum_enabled = false)`);
        await conversations.append(key, messages('first', 1));
        if (wasCounted) await pool.query(`ANALYZE ${items}`);
        await conversations.append(key, messages('msg', 5000));
        mostRows.length = 0;
        await conversations.append(key, [...messages('turn', 3), ...messages('msg', 2)], {
          turn: { id: 'r', epoch: 1 },
        });
        await conversations.append(key, messages('turn', 2), { turn: { id: 'r', epoch: 2 } });
        const page = await conversations.page(key, { limit: 3, order: 'desc' });
        await conversations.page(key, { limit: 3, order: 'asc', after: 'msg_4000' });
        await conversations.find(key, ['msg_17']);
        await conversations.removeItem(key, 'msg_18');
        expect(page.items.map(({ id }) => id)).toEqual(['turn_1', 'turn_0', 'msg_4999']);
        expect([mostRows.length, mostRows.filter((rows) => rows > 20)]).toEqual([6, []]);
      },
    );

    it('[G-10] lists each id once where an earlier release added one twice', async () => {
      const tablePrefix = freshPrefix();
      const { conversations } = postgresStore({ pool, tablePrefix });
      const key = { scope: 's', id: 'c' };
      const ids = ['a', 'b', 'c'];
      await conversations.put({ ...key, createdAt: 0, metadata: {} });
      await conversations.append(
        key,
        ids.map((id) => ({ type: 'message', id })),
      );
      const { items } = postgresTables(tablePrefix);
      await pool.query(`INSERT INTO ${items} SELECT scope, id, 9, item_id, item FROM ${items} WHERE place = 1`);
      const shown: unknown[] = [];
      for (const order of ['asc', 'desc'] as const)
        for (const after of [undefined, ...(order === 'asc' ? ids : ids.toReversed())])
          shown.push(...(await conversations.page(key, { limit: 1, order, after })).items.map(({ id }) => id));
      expect(shown).toEqual(['a', 'b', 'c', 'c', 'b', 'a']);
    });

    it('does not end the pool, which is the host’s', async () => {
      postgresStore({ pool }).close();
      expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    });
  });

  describe('setup', () => {
    it('makes the tables once where ten start at the same time', async () => {
      const tablePrefix = freshPrefix();
      const pools = Array.from({ length: 10 }, () => connect({ max: 1 }));
      await Promise.all(pools.map((each) => postgresStore({ pool: each, tablePrefix }).setup()));
      await Promise.all(pools.map((each) => each.end()));
      const { rows } = await pool.query(`SELECT version FROM ${tablePrefix}schema`);
      expect(rows).toEqual([{ version: 7 }]);
    });

    it('needs no call: the first method makes the tables', async () => {
      const store = postgresStore({ pool, tablePrefix: freshPrefix() });
      expect(
        await Promise.all([store.get({ scope: 's', id: 'a' }), store.conversations.items(storedResponse('c'))]),
      ).toEqual([undefined, []]);
    });

    it('upgrades the tables of an earlier version, and keeps what they hold', async () => {
      const tablePrefix = freshPrefix();
      const tables = postgresTables(tablePrefix);
      await migratePostgres(pool, tables, 1);
      const values = [...['s', 'old'].map(digest), DAY_MS * 1e6, JSON.stringify(storedResponse('old'))];
      await pool.query(`INSERT INTO ${tables.responses} VALUES ($1, $2, NULL, $3, $4)`, values);
      const store = postgresStore({ pool, tablePrefix });
      await store.setup();
      const { rows } = await pool.query(`SELECT version FROM ${tables.schema}`);
      expect([await store.get({ scope: 's', id: 'old' }), rows]).toEqual([storedResponse('old'), [{ version: 7 }]]);
    });

    it('[F-05] upgrades the second version: versions count from 0, and conversations know their bytes', async () => {
      const tablePrefix = freshPrefix();
      const tables = postgresTables(tablePrefix);
      await migratePostgres(pool, tables, 2);
      const [scope, id, late] = [digest('s'), digest('old'), DAY_MS * 1e6];
      const text = '{"type":"message","id":"é"}';
      const add = (table: string, values: unknown[]) =>
        pool.query(`INSERT INTO ${table} VALUES (${values.map((_, index) => `$${index + 1}`)})`, values);
      await add(tables.responses, [scope, id, null, late, JSON.stringify(storedResponse('old'))]);
      await add(tables.conversations, [scope, id, late, 1, JSON.stringify({ metadata: {} })]);
      await add(tables.items, [scope, id, 1, digest('é'), text]);
      const store = postgresStore({ pool, tablePrefix });
      const key = { scope: 's', id: 'old' };
      const bound = Buffer.byteLength(text) * 2;
      expect([
        await store.replace(storedResponse('old', { version: 1 }), 1),
        await store.replace(storedResponse('old', { version: 1 }), 0),
        await store.conversations.append(key, [JSON.parse(text), { type: 'message', id: 'e' }], {
          maxBytes: bound - 2,
        }),
        await store.conversations.append(key, [JSON.parse(text), { type: 'message', id: 'e' }], { maxBytes: bound }),
        (await store.conversations.find(key, ['é'])).length,
      ]).toEqual([false, true, 'full', true, 1]);
    });

    it('adds event logs to the tables of the third version', async () => {
      const tablePrefix = freshPrefix();
      await migratePostgres(pool, postgresTables(tablePrefix), 3);
      const { events } = postgresStore({ pool, tablePrefix });
      const key = { scope: 's', id: 'a' };
      await events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
      expect(await events.heads([key])).toEqual([{ epoch: 1, next: 0, ended: false }]);
    });

    it('refuses tables of a later version', async () => {
      const tablePrefix = freshPrefix();
      const store = postgresStore({ pool, tablePrefix });
      await store.setup();
      await pool.query(`UPDATE ${tablePrefix}schema SET version = 9, compatible_since = NULL`);
      await expect(postgresStore({ pool, tablePrefix }).setup()).rejects.toThrow(
        `postgresStore: ${tablePrefix}schema is at version 9, which packages that know version 9 can use; this package knows 7; update the package`,
      );
    });

    it('[G-12] lets an old process restart, and read and write, after a newer one has migrated the tables', async () => {
      const tablePrefix = freshPrefix();
      const old = postgresStore({ pool, tablePrefix });
      await old.put(storedResponse('before'));
      const { schema } = postgresTables(tablePrefix);
      const { rows: before } = await pool.query(`SELECT * FROM ${schema}`);
      const known = Number(before[0].version);
      const migrations = Array.from({ length: known + 2 }, () => `CREATE TABLE IF NOT EXISTS ${tablePrefix}newer ()`);
      // A newer release, whose tables this one may use.
      await migrateTables(pool, { schema, migrations, compatibleSince: known });
      const restarted = postgresStore({ pool, tablePrefix });
      await restarted.setup();
      await restarted.put(storedResponse('after'));
      const { rows } = await pool.query(`SELECT * FROM ${schema}`);
      expect([(await restarted.chain(storedResponse('before'), 9)).length, rows]).toEqual([
        1,
        [{ version: known + 2, compatible_since: known }],
      ]);
      // One that it may not use.
      await migrateTables(pool, { schema, migrations: [...migrations, 'SELECT 1'], compatibleSince: known + 1 });
      await expect(postgresStore({ pool, tablePrefix }).setup()).rejects.toThrow(
        `which packages that know version ${known + 1} can use; this package knows ${known}`,
      );
    });

    it('[G-12] keeps the tables of this release usable for the release before, which does not lower their version', async () => {
      const tablePrefix = freshPrefix();
      const tables = postgresTables(tablePrefix);
      const store = postgresStore({ pool, tablePrefix });
      await store.setup();
      await store.conversations.put({ scope: 's', id: 'c', createdAt: 0, metadata: {} });
      await store.conversations.append({ scope: 's', id: 'c' }, [{ type: 'message', id: 'a' }]);
      const before = { schema: tables.schema, migrations: Array<string>(5).fill('SELECT 1'), compatibleSince: 5 };
      await migrateTables(pool, before);
      // The statements of that release.
      const [scope, id] = [digest('s'), digest('c')];
      await pool.query(
        `WITH owner AS (UPDATE ${tables.conversations} SET item_count = item_count + 1, item_bytes = item_bytes + 10
           WHERE scope = $1 AND id = $2 RETURNING item_count - 1 AS behind)
         INSERT INTO ${tables.items} (scope, id, place, item_id, item) SELECT $1, $2, behind + 1, $3, $4 FROM owner`,
        [scope, id, digest('b'), '{"type":"message","id":"b"}'],
      );
      await store.conversations.append({ scope: 's', id: 'c' }, [
        { type: 'message', id: 'b' },
        { type: 'message', id: 'd' },
      ]);
      const { rows } = await pool.query(`SELECT version FROM ${tables.schema}`);
      const kept = await store.conversations.items({ scope: 's', id: 'c' });
      expect([rows, kept.map((item) => item.id)]).toEqual([[{ version: 7 }], ['a', 'b', 'd']]);
    });

    it('[G-12] goes on with tables of a release that did not know which releases may use them', async () => {
      const tablePrefix = freshPrefix();
      const tables = postgresTables(tablePrefix);
      await migratePostgres(pool, tables, 5);
      await pool.query(`ALTER TABLE ${tables.schema} DROP COLUMN compatible_since`);
      await postgresStore({ pool, tablePrefix }).setup();
      const { rows } = await pool.query(`SELECT * FROM ${tables.schema}`);
      expect(rows).toEqual([{ version: 7, compatible_since: 5 }]);
    });

    it('leaves nothing half made, and tries again when it is asked again', async () => {
      const tablePrefix = freshPrefix();
      await pool.query(`CREATE TABLE ${tablePrefix}conversations (in_the_way int)`);
      const store = postgresStore({ pool, tablePrefix });
      await expect(store.setup()).rejects.toThrow('already exists');
      const { rows } = await pool.query('SELECT to_regclass($1) AS made', [`${tablePrefix}responses`]);
      await pool.query(`DROP TABLE ${tablePrefix}conversations`);
      await store.put(storedResponse('a'));
      expect([rows, await store.get({ scope: 's', id: 'a' })]).toEqual([[{ made: null }], storedResponse('a')]);
    });

    it('names what a user without rights needs, and works once that is granted', async () => {
      const tablePrefix = freshPrefix();
      await pool.query('CREATE ROLE guest LOGIN');
      const guest = connect({ connectionString: server.url.replace('postgres@', 'guest@') });
      const store = postgresStore({ pool: guest, tablePrefix });
      const denied = await store.setup().catch(String);
      const uses =
        'GRANT USAGE ON SCHEMA public TO guest; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA';
      expect(denied).toContain(
        'postgresStore: the user guest may not create or use the tables of the store in PostgreSQL. Either run GRANT USAGE, CREATE ' +
          `ON SCHEMA public TO guest, or call setup() once with a pool of a user that may, and then, as that user, run ${uses}`,
      );
      await postgresStore({ pool, tablePrefix }).setup();
      expect(await Promise.resolve(store.put(storedResponse('a'))).catch(String)).toBe(denied);
      await pool.query(String(denied).replace(/^.*, run /, ''));
      await store.put(storedResponse('a'));
      await guest.end();
      expect(await postgresStore({ pool, tablePrefix }).get({ scope: 's', id: 'a' })).toEqual(storedResponse('a'));
    });

    it('asks only for the rights to rows where the tables are there', async () => {
      const tablePrefix = freshPrefix();
      await postgresStore({ pool, tablePrefix }).setup();
      await pool.query(`
        CREATE ROLE app LOGIN;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app`);
      const limited = connect({ connectionString: server.url.replace('postgres@', 'app@') });
      const store = postgresStore({ pool: limited, tablePrefix });
      await store.put(storedResponse('a'));
      const kept = await store.get({ scope: 's', id: 'a' });
      await limited.end();
      expect(kept).toEqual(storedResponse('a'));
    });
  });
});

describe('postgresStore', () => {
  const pool = {
    query: async () => ({ rows: [] }),
    connect: async () => ({ query: async () => ({ rows: [] }), release() {} }),
  };

  it.each([
    [{}, 'postgresStore: pool must be a pool of the package pg, got undefined'],
    [{ pool: 5 }, 'postgresStore: pool must be a pool of the package pg, got 5'],
    [
      { pool, tablePrefix: 'Robert"; DROP' },
      "postgresStore: tablePrefix must be at most 32 small letters, digits and underscores, no digit first, got 'Robert\"; DROP'",
    ],
    [{ pool, ttlMs: 0 }, 'postgresStore: ttlMs must be a positive whole number, got 0'],
    [{ pool, now: 5 }, 'postgresStore: now must be a function, got 5'],
    [{ pool, url: 'x' }, "postgresStore: unknown option 'url'; known are pool, tablePrefix, ttlMs, now"],
    [null, 'postgresStore: the options must be an object, got null'],
  ])('refuses %j with a TypeError that names the option and quotes the value', (options, message) => {
    // The cast: a host in JavaScript.
    expect(() => postgresStore(options as unknown as PostgresStoreOptions)).toThrow(new TypeError(message));
  });

  it('takes undefined for an option that is omitted', () => {
    expect(postgresStore({ pool, tablePrefix: undefined, ttlMs: undefined, now: undefined }).name).toBe('postgres');
  });
});
