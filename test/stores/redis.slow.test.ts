/** The Redis store: the contract that every store keeps, over both of Node's clients, and what is Redis' own. */
import { createHash } from 'node:crypto';
import { type AddressInfo, connect as connectTo, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import type { StoredResponse } from '../../src/ports/store.ts';
import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/stores/redis/redis-store.ts';
import { storeContract } from '../../src/testing/index.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import type { Service } from '../support/services.ts';
import { openPerSuite } from '../support/suite-resources.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

type NodeRedis = Awaited<ReturnType<typeof connect>>;

function connect(url: string) {
  return createClient({ url })
    .on('error', () => {})
    .connect();
}

function response(id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  return { scope: 's', id, createdAt: 0, input: [], output: [], resource: {}, ...more };
}

function ids(chain: readonly StoredResponse[]): readonly string[] {
  return chain.map(({ id }) => id);
}

describeRedis('[X-06] redisStore', () => {
  let server: Service;
  let client: NodeRedis;
  let ioredis: Redis;

  openPerSuite(async (closeLater) => {
    server = await startRedis();
    closeLater(server.close);
    client = await connect(server.url);
    closeLater(() => client.destroy());
    ioredis = new Redis(server.url);
    closeLater(() => ioredis.disconnect());
  });

  /** How many commands the server has been sent by clients, those of scripts not counted. */
  async function scriptsRun(): Promise<number> {
    const stats = await client.info('commandstats');
    return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  }

  /** Milliseconds of its clock. */
  async function serverTime(): Promise<number> {
    const [seconds = 0, microseconds = 0] = (await ioredis.time()).map(Number);
    return seconds * 1000 + Math.floor(microseconds / 1000);
  }

  describe('with node-redis', () => {
    storeContract({ describe, it, bounded: true, create: ({ ttlMs }) => ({ store: redisStore({ client, ttlMs }) }) });
  });

  describe('with ioredis', () => {
    storeContract({
      describe,
      it,
      bounded: true,
      create: ({ ttlMs }) => ({ store: redisStore({ client: ioredis, ttlMs }) }),
    });
  });

  describe('in Redis', () => {
    beforeEach(() => client.flushAll());

    it('[P-12] shows one client at once what the other has put', async () => {
      const [one, other] = [redisStore({ client }), redisStore({ client: ioredis })];
      await one.put(response('a'));
      await other.put(response('b', { previousId: 'a' }));
      expect(ids(await one.chain({ scope: 's', id: 'b' }, 10))).toEqual(['b', 'a']);
    });

    it('asks for a chain of 1,000 once', async () => {
      const store = redisStore({ client });
      const turns = Array.from({ length: 1000 }, (_, turn) => response(`${turn}`, { previousId: `${turn - 1}` }));
      await Promise.all(turns.map((turn) => store.put(turn)));
      const before = await scriptsRun();
      const chain = await store.chain({ scope: 's', id: '999' }, 1000);
      expect([chain.length, (await scriptsRun()) - before]).toEqual([1000, 1]);
    });

    it('[P-16] lets Redis forget to the millisecond, by ttlMs or by an earlier expiresAt', async () => {
      const store = redisStore({ client, ttlMs: DAY_MS, now: () => 1000 });
      const before = await serverTime();
      await store.put(response('default'));
      await store.put(response('earlier', { expiresAt: 1000 + HOUR_MS }));
      await store.conversations.put({ scope: 's', id: 'c', createdAt: 0, metadata: {} });
      const after = await serverTime();
      const ends = await Promise.all((await client.keys('*')).map((key) => client.pExpireTime(key)));
      const lives = [HOUR_MS, DAY_MS, DAY_MS];
      const wrong = ends
        .toSorted((one, other) => one - other)
        .filter((end, index) => end < before + (lives[index] ?? 0) || end > after + (lives[index] ?? 0));
      expect([ends.length, wrong]).toEqual([3, []]);
    });

    it('[P-16] keeps nothing of a response that has expired already, not even what it replaces', async () => {
      const store = redisStore({ client, now: () => 1000 });
      await store.put(response('a'));
      await store.put(response('a', { expiresAt: 1000 }));
      expect([await store.get({ scope: 's', id: 'a' }), await client.keys('*')]).toEqual([undefined, []]);
    });

    it('[P-16] leaves two keys for a conversation of any length, its items and where each is, and none once it is deleted', async () => {
      const { conversations } = redisStore({ client });
      const key = { scope: 's', id: 'c' };
      await conversations.put({ ...key, createdAt: 0, metadata: {} });
      const items = Array.from({ length: 20_000 }, (_, index) => ({ type: 'message', id: `msg_${index}` }));
      await conversations.append(key, items);
      const [length, kept] = [(await conversations.items(key)).length, await client.dbSize()];
      await conversations.delete(key);
      expect([length, kept, await client.dbSize()]).toEqual([20_000, 2, 0]);
    });

    it('[P-16] leaves one key for an event log of any length, until the time that its writer gives', async () => {
      const { events } = redisStore({ client, ttlMs: DAY_MS, now: () => 1000 });
      const key = { scope: 's', id: 'a' };
      await events.begin(key, { epoch: 1, request: '', expiresAt: 1000 + 5000 });
      const many = Array.from({ length: 20_000 }, (_, index) => `${index}`);
      await events.append(key, { epoch: 1, from: 0, events: many, state: '' });
      const lives = [await client.pTTL((await client.keys('*'))[0] ?? '')];
      await events.append(key, { epoch: 1, from: 20_000, events: ['0'], state: '', endsUntil: 1000 + 50_000 });
      lives.push(await client.pTTL((await client.keys('*'))[0] ?? ''));
      const length = (await events.read(key, -1, 1e9))?.events.length;
      const kept = await client.dbSize();
      await events.begin(key, { epoch: 1, request: '', expiresAt: 1000 + 5000 });
      const fields = await client.hLen((await client.keys('*'))[0] ?? '');
      await events.end(key, 2, 1000);
      expect([length, kept, fields, await client.dbSize()]).toEqual([20_001, 1, 5, 0]);
      expect(lives.map((life) => Math.ceil(life / 1000))).toEqual([5, 50]);
    });

    it('reads a page of a long event log without the rest of it', async () => {
      const { events } = redisStore({ client });
      const key = { scope: 's', id: 'a' };
      await events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
      const many = Array.from({ length: 50_000 }, (_, index) => `{"index":${index}}`);
      await events.append(key, { epoch: 1, from: 0, events: many, state: '' });
      const reads = async () => Number(/cmdstat_hget:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]);
      const before = await reads();
      const page = await events.read(key, 29_999, 50);
      expect([page?.events, (await reads()) - before]).toEqual([many.slice(30_000, 30_003), 4]);
    });

    it('asks for the positions of 1,000 event logs of one scope by one script', async () => {
      const { events } = redisStore({ client });
      const keys = Array.from({ length: 1000 }, (_, index) => ({ scope: 's', id: `${index}` }));
      await events.begin({ scope: 's', id: '999' }, { epoch: 3, request: '', expiresAt: Date.now() + DAY_MS });
      await events.heads(keys);
      const before = await scriptsRun();
      const heads = await events.heads([...keys, { scope: 's', id: '999' }]);
      const scripts = (await scriptsRun()) - before;
      expect([scripts, heads.length, heads.filter(Boolean)]).toEqual([
        1,
        1001,
        [999, 1000].map(() => ({ epoch: 3, next: 0, ended: false })),
      ]);
    });

    it('asks for the positions of 1,000 event logs at once', async () => {
      const keys = Array.from({ length: 1000 }, (_, index) => ({ scope: `scope ${index}`, id: 'a' }));
      for (const { events } of [redisStore({ client }), redisStore({ client: ioredis })]) {
        for (const key of [keys[0], keys[999]])
          if (key) await events.begin(key, { epoch: 7, request: '', expiresAt: Date.now() + DAY_MS });
        const heads = await events.heads(keys);
        const found = heads.flatMap((head, index) => (head ? [[index, head.epoch]] : []));
        expect([heads.length, found]).toEqual([
          1000,
          [
            [0, 7],
            [999, 7],
          ],
        ]);
      }
    });

    it("finds the positions of several event logs under a prefix of the client's own", async () => {
      const prefixed = new Redis(server.url, { keyPrefix: 'app:' });
      const { events } = redisStore({ client: prefixed });
      const keys = ['a', 'b', 'c'].map((id) => ({ scope: 's', id }));
      for (const key of keys) await events.begin(key, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
      const heads = await events.heads(keys);
      prefixed.disconnect();
      expect(heads).toEqual(keys.map(() => ({ epoch: 1, next: 0, ended: false })));
    });

    it('[F-05] goes on with a conversation of an earlier release, which does not know its bytes', async () => {
      const { conversations } = redisStore({ client });
      const made = { scope: 's', id: 'c', createdAt: 0, metadata: {} };
      await conversations.put(made);
      const [key = ''] = await client.keys('*');
      await client.lSet(key, 0, JSON.stringify(made));
      const item = (id: string) => ({ type: 'message', id, text: 'x'.repeat(1000) });
      await client.rPush(
        key,
        `${createHash('sha256').update('"a"').digest('base64url')}\n${JSON.stringify(item('a'))}`,
      );
      const answers = [
        await conversations.get(made),
        await conversations.append(made, [item('b')], { maxBytes: 1500 }),
        await conversations.append(made, [item('b')], { maxBytes: 2500 }),
        await conversations.append(made, [item('c')], { maxBytes: 2500 }),
      ];
      expect([answers, (await conversations.find(made, ['a', 'b', 'c'])).map(({ id }) => id)]).toEqual([
        [made, 'full', true, 'full'],
        ['a', 'b'],
      ]);
    });

    it('[G-10] lists each id once where an earlier release added one twice', async () => {
      const { conversations } = redisStore({ client });
      const made = { scope: 's', id: 'c', createdAt: 0, metadata: {} };
      const ids = ['a', 'b', 'c'];
      await conversations.put(made);
      await conversations.append(
        made,
        ids.map((id) => ({ type: 'message', id })),
      );
      const [list = ''] = (await client.keys('*')).filter((key) => !key.endsWith(':ids'));
      await client.rPush(list, (await client.lIndex(list, 1)) ?? '');
      const shown: unknown[] = [];
      for (const order of ['asc', 'desc'] as const)
        for (const after of [undefined, ...(order === 'asc' ? ids : ids.toReversed())])
          shown.push(...(await conversations.page(made, { limit: 1, order, after })).items.map(({ id }) => id));
      expect(shown).toEqual(['a', 'b', 'c', 'c', 'b', 'a']);
    });

    it('[F-05] makes its index of a conversation again where it was lost', async () => {
      const { conversations } = redisStore({ client });
      const made = { scope: 's', id: 'c', createdAt: 0, metadata: {} };
      await conversations.put(made);
      await conversations.append(made, [
        { type: 'message', id: 'a' },
        { type: 'message', id: 'b' },
      ]);
      const found = async () => (await conversations.find(made, ['b'])).length;
      const before = await found();
      const [index = ''] = await client.keys('*:ids');
      const life = await client.pTTL(index);
      await client.del(index);
      expect([before, life > 0, await found()]).toEqual([1, true, 1]);
      await conversations.delete(made);
      expect(await client.dbSize()).toBe(0);
    });

    it('adds items once to a conversation, although the client repeats the command after a lost answer', async () => {
      const proxy = await startProxy(server);
      const cutOff = new Redis(proxy.port, '127.0.0.1').on('error', () => {});
      const { conversations } = redisStore({ client: cutOff });
      const key = { scope: 's', id: 'c' };
      await conversations.put({ ...key, createdAt: 0, metadata: {} });
      await conversations.append(key, [{ type: 'message', id: 'a' }]);
      proxy.loseNextAnswer();
      expect(await conversations.append(key, [{ type: 'message', id: 'b' }])).toBe(true);
      expect((await conversations.items(key)).map(({ id }) => id)).toEqual(['a', 'b']);
      cutOff.disconnect();
      await proxy.close();
    });

    it('[F-19] takes an append of more items than a call takes arguments', async () => {
      const { conversations } = redisStore({ client });
      const key = { scope: 's', id: 'c' };
      await conversations.put({ ...key, createdAt: 0, metadata: {} });
      const items = Array.from({ length: 120_000 }, () => ({ type: 'message' }));
      const added = await conversations.append(key, items);
      expect([added, (await conversations.page(key, { limit: 1, order: 'desc' })).hasMore]).toEqual([true, true]);
      await conversations.delete(key);
    });

    it('[P-13] names keys after digests, all of a scope in one slot, under the prefix', async () => {
      const store = redisStore({ client, prefix: 'mine' });
      const odd = 'half \ud83d pair \u0000 {x} \r\n *';
      await store.put(response(odd, { scope: odd }));
      await store.conversations.put({ scope: odd, id: odd, createdAt: 0, metadata: {} });
      await store.events.begin({ scope: odd, id: odd }, { epoch: 1, request: odd, expiresAt: Date.now() + DAY_MS });
      const digest = createHash('sha256').update(JSON.stringify(odd)).digest('base64url');
      expect((await client.keys('*')).toSorted()).toEqual([
        `{mine:${digest}}:conversation:${digest}`,
        `{mine:${digest}}:events:${digest}`,
        `{mine:${digest}}:response:${digest}`,
      ]);
    });

    it('keeps stores of different prefixes apart', async () => {
      const [one, other] = [redisStore({ client, prefix: 'one' }), redisStore({ client, prefix: 'other' })];
      await one.put(response('a'));
      expect(await other.get({ scope: 's', id: 'a' })).toBeUndefined();
    });

    it('goes on when the server has forgotten its scripts', async () => {
      const store = redisStore({ client });
      await store.put(response('a'));
      await client.scriptFlush();
      await store.put(response('b', { previousId: 'a' }));
      expect(ids(await store.chain({ scope: 's', id: 'b' }, 10))).toEqual(['b', 'a']);
    });

    it('rejects with what the server says', async () => {
      const store = redisStore({ client, prefix: 'typed' });
      await store.put(response('a'));
      const [key = ''] = await client.keys('*');
      await client.del(key);
      await client.hSet(key, 'field', 'value');
      await expect(store.get({ scope: 's', id: 'a' })).rejects.toThrow(/WRONGTYPE/);
    });

    it('does not end the client, which is the host’s', async () => {
      redisStore({ client }).close();
      expect(await client.ping()).toBe('PONG');
    });
  });

  describe('setup', () => {
    it('resolves where the server answers', async () => {
      await expect(redisStore({ client }).setup()).resolves.toBeUndefined();
    });

    it('rejects where the server is too old', async () => {
      const old = { eval: async () => 'redis_version:5.0.14\r\n', evalSha: async () => 'redis_version:5.0.14\r\n' };
      await expect(redisStore({ client: old }).setup()).rejects.toThrow(
        'redisStore: needs Redis 6 or newer, the server is 5.0.14',
      );
    });

    it('rejects where nobody answers', async () => {
      const ended = await connect(server.url);
      ended.destroy();
      await expect(redisStore({ client: ended }).setup()).rejects.toThrow('The client is closed');
    });
  });
});

/** A way to the server that can be cut off between a command and its answer. */
async function startProxy({ url }: Service) {
  let isLosing = false;
  const proxy = createServer((client) => {
    const upstream = connectTo(Number(new URL(url).port), '127.0.0.1');
    const end = () => [client, upstream].map((socket) => socket.destroy());
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      if (!isLosing) return void client.write(bytes);
      isLosing = false;
      end();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    // The cast: it listens to a port.
    port: (proxy.address() as AddressInfo).port,
    loseNextAnswer: () => {
      isLosing = true;
    },
    close: () => new Promise((resolve) => proxy.close(resolve)),
  };
}

/** Two nodes that are one cluster, each with half of the slots. */
async function startCluster() {
  const nodes = await Promise.all([startRedis({ cluster: true }), startRedis({ cluster: true })]);
  const clients = await Promise.all(nodes.map(({ url }) => connect(url)));
  const [first, second] = clients as [NodeRedis, NodeRedis];
  await Promise.all([
    first.clusterAddSlotsRange({ start: 0, end: 8191 }),
    second.clusterAddSlotsRange({ start: 8192, end: 16383 }),
  ]);
  await first.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', portOf(nodes[1]), await busPortOf(second)]);
  for (const client of clients) while (!(await isReady(client))) await pause(20);
  for (const client of clients) client.destroy();
  return nodes;
}

function portOf(node: Service): string {
  return new URL(node.url).port;
}

async function busPortOf(client: NodeRedis): Promise<string> {
  return String(/@(\d+)/.exec(await client.sendCommand(['CLUSTER', 'NODES']))?.[1]);
}

async function isReady(client: NodeRedis): Promise<boolean> {
  const info = await client.clusterInfo();
  return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:2');
}

describeRedis('[X-06] redisStore on a cluster', () => {
  let nodes: readonly Service[] = [];

  beforeAll(async () => {
    nodes = await startCluster();
  }, 120_000);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.close()));
  });

  /** Chains of three and a conversation in each of 20 scopes, which fall into slots of either node. */
  async function talk(store: RedisStore): Promise<readonly unknown[]> {
    const scopes = Array.from({ length: 20 }, (_, index) => `scope ${index}`);
    return Promise.all(
      scopes.map(async (scope) => {
        for (const [id, previousId] of [['c', 'b'], ['b', 'a'], ['a']] as const) {
          await store.put(response(id, { scope, ...(previousId && { previousId }) }));
        }
        await store.conversations.put({ scope, id: 'c', createdAt: 0, metadata: {} });
        await store.conversations.append({ scope, id: 'c' }, [{ type: 'message' }]);
        await store.events.begin({ scope, id: 'c' }, { epoch: 1, request: '', expiresAt: Date.now() + DAY_MS });
        return [ids(await store.chain({ scope, id: 'c' }, 10)), await store.conversations.items({ scope, id: 'c' })];
      }),
    );
  }

  /** The epochs of the logs of all these scopes, asked for at once. */
  async function epochs({ events }: RedisStore): Promise<readonly unknown[]> {
    const heads = await events.heads(Array.from({ length: 20 }, (_, index) => ({ scope: `scope ${index}`, id: 'c' })));
    return heads.map((head) => head?.epoch);
  }

  const EPOCHS = Array.from({ length: 20 }, () => 1);
  const TALK = Array.from({ length: 20 }, () => [['c', 'b', 'a'], [{ type: 'message' }]]);

  it('keeps a chain in one slot with node-redis', async () => {
    const cluster = createCluster({ rootNodes: nodes.map(({ url }) => ({ url })), useReplicas: true }).on(
      'error',
      () => {},
    );
    await cluster.connect();
    const store = redisStore({ client: cluster, prefix: 'one' });
    const talked = [await talk(store), await epochs(store)];
    cluster.destroy();
    expect(talked).toEqual([TALK, EPOCHS]);
  });

  it('keeps a chain in one slot with ioredis', async () => {
    const cluster = new Cluster(nodes.map(({ url }) => url));
    const store = redisStore({ client: cluster, prefix: 'two' });
    const talked = [await talk(store), await epochs(store)];
    cluster.disconnect();
    expect(talked).toEqual([TALK, EPOCHS]);
  });
});

describe('redisStore', () => {
  const client = { eval: async () => null, evalSha: async () => null };

  it.each([
    [{}, 'redisStore: client must be a client or cluster of the package redis or ioredis, got undefined'],
    [{ client: 5 }, 'redisStore: client must be a client or cluster of the package redis or ioredis, got 5'],
    [{ client, prefix: '' }, "redisStore: prefix must be a string without braces that is not empty, got ''"],
    [{ client, prefix: '{a}' }, "redisStore: prefix must be a string without braces that is not empty, got '{a}'"],
    [{ client, ttlMs: 0 }, 'redisStore: ttlMs must be a positive whole number, got 0'],
    [{ client, now: 5 }, 'redisStore: now must be a function, got 5'],
    [{ client, url: 'x' }, "redisStore: unknown option 'url'; known are client, prefix, ttlMs, now"],
    [null, 'redisStore: the options must be an object, got null'],
  ])('refuses %j with a TypeError that names the option and quotes the value', (options, message) => {
    // The cast: a host in JavaScript.
    expect(() => redisStore(options as unknown as RedisStoreOptions)).toThrow(new TypeError(message));
  });

  it('takes undefined for an option that is omitted', () => {
    expect(redisStore({ client, prefix: undefined, ttlMs: undefined, now: undefined }).name).toBe('redis');
  });
});
