/** The BullMQ engine and databases that go away, have another time, hold other jobs or refuse. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import type { BackgroundEngine } from '../../src/ports/background/background-engine.ts';
import { bullmqEngine } from '../../src/stores/queues/bullmq/bullmq-engine.ts';
import { postgresLink } from '../../src/stores/queues/bullmq/postgres-link.ts';
import { QueueEngine } from '../../src/stores/queues/bullmq/queue-engine.ts';
import { redisLink } from '../../src/stores/queues/bullmq/redis-link.ts';
import type { Link, QueueSettings } from '../../src/stores/queues/bullmq/session.ts';
import { freshKeys, RecordingWorker, untilAborted } from '../../src/testing/engines/engine-case.ts';
import { engineDatabases } from '../stores/queues/engine-databases.ts';
import { type HostConnection, hosts } from '../stores/queues/engine-hosts.ts';
import { describePostgres, postgresPerSuite } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import type { Service } from '../support/services.ts';

const LOCK_MS = 2000;
const AWAY_MS = 4000;

function key(id: string) {
  return { scope: 's', id };
}

for (const database of engineDatabases)
  database.describe(`bullmqEngine over ${database.name}`, () => {
    let server: Service;
    let host: HostConnection;
    let engines: BackgroundEngine[] = [];

    beforeEach(async () => {
      server = await database.start({ durable: true });
      host = await hosts[database.name](server.url);
    });
    afterEach(async () => {
      await Promise.all(engines.map((engine) => engine.close()));
      engines = [];
      await host.end();
      await server.close();
    });

    function create(queueName = randomUUID()): BackgroundEngine {
      const engine = bullmqEngine({ ...host.options, queueName, lockMs: LOCK_MS });
      engines.push(engine);
      return engine;
    }

    it('[X-08] goes on after an outage, without a restart and with all that was submitted before', async () => {
      const [engine, worker] = [create(), new RecordingWorker()];
      const kept = freshKeys(20);
      for (const each of kept) await engine.submit(each);
      engine.start(worker);
      await worker.until(() => worker.finished > 0);
      await server.stop();
      await pause(AWAY_MS);
      await server.start();
      await worker.until(() => new Set(worker.ids).size === kept.length);
      await engine.submit(key('resp_new'));
      await worker.until(() => worker.ids.includes('resp_new'));
    });

    it('[X-08] reports an outage, but seldom, and goes on when a run ended meanwhile', async () => {
      const [engine, worker] = [create(), new RecordingWorker()];
      let finish = () => {};
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const slow = new RecordingWorker(async () => {
        await finished;
        return 'ended';
      });
      engine.start({ run: (claimed) => slow.run(claimed), onError: (error) => worker.onError(error) });
      await engine.submit(key('resp_1'));
      await slow.until(() => slow.running === 1);
      await server.stop();
      finish();
      await worker.until(() => worker.errors.length > 0);
      await pause(AWAY_MS);
      expect(worker.errors.length).toBeLessThanOrEqual(2);
      await server.start();
      await engine.submit(key('resp_2'));
      await slow.until(() => slow.ids.includes('resp_2'));
    });

    it('[X-08] starts while the database is away, rejects what it cannot keep, and works once it is there', async () => {
      await server.stop();
      const [engine, worker] = [create(), new RecordingWorker()];
      engine.start(worker);
      await expect(engine.submit(key('resp_1'))).rejects.toThrow(/ECONNREFUSED|did not answer|^$/);
      await server.start();
      await worker.until(() => worker.ids.includes('resp_1') || worker.errors.length > 0);
      for (let tries = 0; tries < 30; tries += 1)
        if (
          await engine.submit(key('resp_2')).then(
            () => true,
            () => pause(1000, false),
          )
        )
          break;
      await worker.until(() => worker.ids.includes('resp_2'));
    });

    it('[X-08] is released and closed while the database is away or frozen', async () => {
      const [engine, frozen, worker] = [create(), create(), new RecordingWorker(untilAborted)];
      engine.start(worker);
      frozen.start(worker);
      await engine.submit(key('resp_1'));
      await worker.until(() => worker.running === 1);
      server.pause();
      const released = frozen.close();
      await released;
      server.resume();
      await server.stop();
      const late = create();
      late.start(worker);
      await Promise.all([engine.close(), late.close()]);
      expect(worker.running).toBe(0);
      await server.start();
    });

    it("[X-08] leaves the host's own connection as it is", async () => {
      const [engine, worker] = [create(), new RecordingWorker()];
      engine.start(worker);
      await engine.submit(key('resp_1'));
      await worker.until(() => worker.finished === 1);
      await engine.close();
      expect([await host.works(), worker.errors]).toEqual([true, []]);
    });

    it('[X-08] usually runs a response where it was submitted', async () => {
      const queueName = randomUUID();
      const [one, other] = [create(queueName), create(queueName)];
      const [first, second] = [new RecordingWorker(), new RecordingWorker()];
      one.start(first);
      other.start(second);
      const keys = freshKeys(40);
      for (const each of keys) await one.submit(each);
      await first.until(() => first.finished + second.finished === keys.length);
      // Most of them on an idle machine; a busy one may let the other process be first.
      expect(first.finished).toBeGreaterThan(keys.length / 4);
    });
  });

/** An engine whose clock the test sets. */
function engineWith(link: Link, clock: { now: number }) {
  return new QueueEngine(
    { link, concurrency: 10, lockMs: LOCK_MS },
    { now: () => clock.now + Date.now(), compareEveryMs: 200 },
  );
}

async function showsTheClock(link: Link): Promise<void> {
  const clock = { now: 60_000 };
  const [engine, worker] = [engineWith(link, clock), new RecordingWorker()];
  engine.start(worker);
  await worker.until(() => worker.errors.length > 0);
  // [G-13] It would be overdue for others, and fail.
  await expect(engine.submit(key('resp_0'))).rejects.toThrow("does not agree with the database's");
  clock.now = 0;
  await engine.submit(key('resp_1'));
  expect(String(worker.errors[0])).toMatch(
    /^Error: bullmqEngine: the clock of this process is (59|60)\d{3} ms ahead of the database's, more than half of lockMs \(2000\)/,
  );
  await worker.until(() => worker.ids.includes('resp_1'));
  const errors = worker.errors.length;
  clock.now = -60_000;
  await worker.until(() => worker.errors.length > errors);
  await expect(engine.submit(key('resp_2'))).rejects.toThrow("does not agree with the database's");
  expect(worker.ids).toEqual(['resp_1']);
  clock.now = 0;
  await engine.submit(key('resp_3'));
  await worker.until(() => worker.ids.includes('resp_3'));
  await engine.close();
}

function settings(): QueueSettings {
  return { queueName: randomUUID(), lockMs: LOCK_MS, prefix: '{test}' };
}

describeRedis('bullmqEngine in Redis', () => {
  let server: Service;
  let client: Redis;

  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url, { maxRetriesPerRequest: null });
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.close();
  });

  it('[X-08] claims nothing while its clock and the database differ', () =>
    showsTheClock(redisLink(client, settings())));

  it('[X-08] gives up jobs that no process reads, reports them, and runs the others', async () => {
    const { queueName } = settings();
    const queue = new Queue(queueName, { connection: client, prefix: '{open-responses}' });
    for (const data of [
      {},
      { scope: 1, id: 2 },
      'text',
      null,
      { scope: '"s"', id: '"i"', more: 1 },
      { scope: 's', id: 'i' },
    ])
      await queue.add('response', data);
    const [engine, worker] = [bullmqEngine({ connection: client, queueName, lockMs: LOCK_MS }), new RecordingWorker()];
    engine.start(worker);
    await engine.submit(key('resp_1'));
    await worker.until(() => worker.finished === 1);
    // A process of another version may read them: they are offered ten times, once in a second.
    const left = () => queue.getJobCounts('wait', 'active', 'failed', 'delayed');
    const isLeft = async () => Object.values(await left()).some((count) => count > 0);
    expect(await isLeft()).toBe(true);
    while (await isLeft()) await pause(500);
    expect(worker.ids).toEqual(['resp_1']);
    expect(String(worker.errors[0])).toMatch(
      /^Error: bullmqEngine: job \d+ is no response of this version: it is left to other processes, and given up at the 10th attempt$/,
    );
    await engine.close();
    await queue.close();
  });

  it('[X-08] keeps scope and id in the queue and nothing of a response that is over', async () => {
    const { queueName } = settings();
    const engine = bullmqEngine({ connection: client, queueName, lockMs: LOCK_MS });
    await engine.submit(key('resp_1'));
    const queue = new Queue(queueName, { connection: client, prefix: '{open-responses}' });
    expect((await queue.getJobs('prioritized')).map(({ name, data }) => [name, data])).toEqual([
      ['response', { scope: '"s"', id: '"resp_1"' }],
    ]);
    const worker = new RecordingWorker();
    engine.start(worker);
    await worker.until(() => worker.finished === 1);
    await engine.close();
    expect(await queue.getJobCounts('wait', 'prioritized', 'active', 'completed', 'failed')).toEqual({
      wait: 0,
      prioritized: 0,
      active: 0,
      completed: 0,
      failed: 0,
    });
    await queue.close();
  });

  it('[X-08] names what a user without rights needs, and works once that is granted', async () => {
    await client.call('ACL', 'SETUSER', 'guest', 'on', '>sesame', '~other*', '+@all');
    const url = Object.assign(new URL(server.url), { username: 'guest', password: 'sesame' });
    const guest = new Redis(url.href, { maxRetriesPerRequest: null });
    const [engine, worker] = [
      bullmqEngine({ connection: guest, queueName: randomUUID(), lockMs: LOCK_MS }),
      new RecordingWorker(),
    ];
    engine.start(worker);
    const denied = await engine.submit(key('resp_1')).catch(String);
    expect(denied).toBe(
      'Error: bullmqEngine: the user of the connection may not use the queue in Redis. Run ACL SETUSER <user> ' +
        '~{open-responses}* &* +@all -@dangerous +info',
    );
    await worker.until(() => worker.errors.length > 0);
    expect(String(worker.errors[0])).toBe(denied);
    const [, rules = ''] = String(denied).split('<user> ');
    await client.call('ACL', 'SETUSER', 'guest', 'resetkeys', '-@all', ...rules.split(' '));
    for (let tries = 0; tries < 30 && !worker.ids.includes('resp_2'); tries += 1)
      await engine.submit(key('resp_2')).catch(() => pause(500));
    await worker.until(() => worker.ids.includes('resp_2'));
    await engine.close();
    guest.disconnect();
  });

  it('[X-08] takes the options of an ioredis client', async () => {
    const port = Number(new URL(server.url).port);
    const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: 3 };
    const [engine, worker] = [bullmqEngine({ connection, queueName: randomUUID() }), new RecordingWorker()];
    engine.start(worker);
    await engine.submit(key('resp_1'));
    await worker.until(() => worker.finished === 1);
    await engine.close();
  });
});

describePostgres('bullmqEngine in PostgreSQL', () => {
  let server: Service;
  let pool: Pool;

  postgresPerSuite((started, connected) => {
    server = started;
    pool = connected;
  });

  it('[X-08] names what a user without rights needs, and works once that is granted', async () => {
    await pool.query("CREATE USER guest PASSWORD 'sesame'");
    const { hostname: name, port } = new URL(server.url);
    const guest = new Pool({ host: name, port: Number(port), user: 'guest', password: 'sesame', database: 'postgres' });
    guest.on('error', () => {});
    const queueName = randomUUID();
    const [engine, worker] = [bullmqEngine({ pool: guest, queueName, lockMs: LOCK_MS }), new RecordingWorker()];
    engine.start(worker);
    const denied = await engine.submit(key('resp_1')).catch(String);
    expect(denied).toContain(
      "the user guest may not create BullMQ's tables in PostgreSQL. Either run GRANT CREATE ON DATABASE postgres TO guest, or " +
        'start the engine once with a pool of a user that may, and then run GRANT USAGE ON SCHEMA bullmq TO guest; ',
    );
    await worker.until(() => worker.errors.length > 0);
    expect(String(worker.errors[0])).toBe(denied);
    const owner = bullmqEngine({ pool, queueName, lockMs: LOCK_MS });
    await owner.submit(key('resp_1'));
    await owner.close();
    const missing = await engine.submit(key('resp_2')).catch(String);
    expect(missing).toContain(
      "the user of the pool may not use BullMQ's tables in PostgreSQL. As their owner, run GRANT USAGE",
    );
    await pool.query(
      String(missing)
        .replace(/^.*?, run /, '')
        .replaceAll('<user>', 'guest'),
    );
    await worker.until(() => worker.ids.includes('resp_1'));
    await engine.submit(key('resp_2'));
    await worker.until(() => worker.ids.includes('resp_2'));
    await engine.close();
    await guest.end();
  });

  it('[X-08] says so if the tables are of a newer version', async () => {
    await pool.query('CREATE DATABASE newer');
    const newer = new Pool({ connectionString: Object.assign(new URL(server.url), { pathname: '/newer' }).href });
    const before = bullmqEngine({ pool: newer, lockMs: LOCK_MS });
    await before.submit(key('resp_1'));
    await before.close();
    await newer.query('UPDATE bullmq.migration SET min_client_version = 99');
    const engine = bullmqEngine({ pool: newer, lockMs: LOCK_MS });
    const refused = await engine.submit(key('resp_2')).catch(String);
    expect(refused).toContain('the PostgreSQL schema requires BullMQ major version 99 or newer');
    await engine.close();
    await newer.end();
  });

  it('[X-08] claims nothing while its clock and the database differ', () =>
    showsTheClock(postgresLink(pool, settings())));

  it('[X-08] reports it if the search path of its connections is not its own', async () => {
    const own = new Pool({ connectionString: `${server.url}?options=-c%20search_path%3Dpublic` });
    const engine = bullmqEngine({ pool: own });
    await expect(engine.submit(key('resp_1'))).rejects.toThrow(
      "the search path of its connections is 'public' and not 'bullmq'",
    );
    await engine.close();
    await own.end();
  });

  it('[X-08] is set up by ten engines at once', async () => {
    await pool.query('CREATE DATABASE fresh');
    const url = Object.assign(new URL(server.url), { pathname: '/fresh' });
    const fresh = new Pool({ connectionString: url.href });
    const engines = Array.from({ length: 10 }, () => bullmqEngine({ pool: fresh, lockMs: LOCK_MS }));
    await Promise.all(engines.map((engine, index) => engine.submit(key(`resp_${index}`))));
    await Promise.all(engines.map((engine) => engine.close()));
    await fresh.end();
  });
});
