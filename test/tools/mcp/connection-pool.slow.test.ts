/** The pool of remote connections: laws that hold for whatever requests come and go. */
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../../src/protocol/errors.ts';
import type { RemoteConnection } from '../../../src/tools/mcp/remote/remote-connection.ts';
import { ConnectionPool } from '../../../src/tools/mcp/shared/connection-pool.ts';
import { deferred } from '../../engine/tools/support.ts';
import { same } from '../../support/law.ts';
import { closeAll, useFakeTimers } from '../../support/mcp-client.ts';

afterEach(closeAll);

const LIMITS = { maxServers: 4, maxServersPerScope: 2, idleMs: 60_000 };

interface FakeConnection extends RemoteConnection {
  failed: boolean;
  users: number;
  closed: boolean;
}

/** What a request does: it begins to use a server, ends its oldest use of it, or sees it fail. */
const step = fc.record({
  act: fc.constantFrom('begin', 'begin', 'end', 'fail'),
  scope: fc.constantFrom('a', 'b', 'c'),
  server: fc.nat({ max: 3 }),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A pool, and all that was ever opened in it, by scope. */
function fakePool() {
  const pool = new ConnectionPool<RemoteConnection>(LIMITS);
  const opened: { readonly scope: string; readonly id: string; readonly connection: FakeConnection }[] = [];
  const uses = new Map<string, (() => void)[]>();
  const faults: string[] = [];

  function create(scope: string, id: string): FakeConnection {
    const connection: FakeConnection = {
      opening: new Promise(() => {}),
      failed: false,
      users: 0,
      closed: false,
      async close() {
        if (connection.users > 0 && !connection.failed) faults.push(`${id} was closed in use`);
        if (connection.closed) faults.push(`${id} was closed twice`);
        connection.closed = true;
      },
    };
    opened.push({ scope, id, connection });
    return connection;
  }

  async function begin(scope: string, id: string): Promise<void> {
    const { promise, resolve } = deferred();
    const use = pool.use(
      { id, scope },
      () => create(scope, id),
      async (given) => {
        const connection = given as FakeConnection;
        if (connection.failed || connection.closed) faults.push(`${id} was handed out though it was of no use`);
        connection.users += 1;
        await promise;
        connection.users -= 1;
      },
    );
    uses.set(id, [...(uses.get(id) ?? []), resolve]);
    await use.catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 'too_many_mcp_servers')) throw error;
    });
  }

  const end = (id: string) => uses.get(id)?.shift()?.();
  const live = () => opened.filter(({ connection }) => !connection.closed && !connection.failed);

  async function run({ act, scope, server }: Step): Promise<void> {
    const id = `${scope}${server}`;
    if (act === 'begin') void begin(scope, id);
    if (act === 'end') end(id);
    for (const { id: other, connection } of live()) if (act === 'fail' && other === id) connection.failed = true;
    await settled();
  }

  return { pool, opened, faults, begin, end, run, live };
}

async function settled(): Promise<void> {
  for (let round = 0; round < 10; round += 1) await Promise.resolve();
}

const most = (scopes: readonly string[]) =>
  Math.max(0, ...scopes.map((scope) => scopes.filter((other) => other === scope).length));

describe('remotePool', () => {
  it('[T-09] never holds more than it may, closes nothing in use, and in the end closes all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { pool, opened, faults, run, live } = fakePool();
        for (const next of steps) {
          await run(next);
          const scopes = live().map(({ scope }) => scope);
          const ids = new Set(live().map(({ id }) => id));
          same(
            [faults, scopes.length <= 4, most(scopes) <= 2, ids.size],
            [[], true, true, scopes.length],
            'bounds hold, and nothing is closed in use',
          );
        }
        faults.length = 0;
        await pool.close();
        same(opened.filter(({ connection }) => !connection.closed).length, 0, 'close leaves nothing');
      }),
    );
  });

  it('[T-09] closes what nobody has used for idleMs, and not before the last user is gone', async () => {
    useFakeTimers();
    const { pool, begin, end, opened } = fakePool();
    const closed = () => opened.map(({ connection }) => connection.closed);
    const uses = [begin('a', 'a0'), begin('a', 'a0')];
    const idle = async () => {
      end('a0');
      await settled();
      jest.advanceTimersByTime(LIMITS.idleMs);
      return closed();
    };
    expect([await idle(), await idle()]).toEqual([[false], [true]]);
    await Promise.all([...uses, pool.close()]);
  });

  it('[T-09] closes what failed as soon as its last user is gone', async () => {
    const { opened, begin, end } = fakePool();
    const use = begin('a', 'a0');
    const [first] = opened;
    if (first) first.connection.failed = true;
    const before = first?.connection.closed;
    end('a0');
    await use;
    expect([before, first?.connection.closed]).toEqual([false, true]);
  });

  it('[T-09] is closed when the last connection is', async () => {
    const ending = deferred();
    const pool = new ConnectionPool<RemoteConnection>(LIMITS);
    const connection = { opening: new Promise<never>(() => {}), failed: false, close: () => ending.promise };
    await pool.use(
      { id: 'a', scope: 'a' },
      () => connection,
      async () => {},
    );
    let closed = false;
    const closing = pool.close().then(() => {
      closed = true;
    });
    await settled();
    const before = closed;
    ending.resolve();
    await closing;
    expect([before, closed]).toEqual([false, true]);
  });

  it('[T-09] hands out nothing after it was closed', async () => {
    const pool: ConnectionPool<RemoteConnection> = new ConnectionPool<RemoteConnection>(LIMITS);
    await pool.close();
    const use = pool.use(
      { id: 'a', scope: 'a' },
      () => Promise.reject() as never,
      async () => {},
    );
    await expect(use).rejects.toMatchObject({ code: 'server_draining' });
  });
});
