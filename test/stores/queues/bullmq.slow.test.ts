/** The BullMQ engine: the contract of all engines, on each database and over each driver. */
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { bullmqEngine } from '../../../src/stores/queues/bullmq/bullmq-engine.ts';
import { backgroundEngineContract } from '../../../src/testing/index.ts';
import { gate } from '../../support/gate.ts';
import { describeRedis, startRedis } from '../../support/redis-server.ts';
import type { Service } from '../../support/services.ts';
import { engineDatabases } from './engine-databases.ts';
import type { HostConnection } from './engine-hosts.ts';
import { hostPerSuite } from './host-per-suite.ts';

for (const database of engineDatabases)
  database.describe(`bullmqEngine over ${database.name}`, () => {
    let host: HostConnection;

    hostPerSuite(database, (connected) => {
      host = connected;
    });

    backgroundEngineContract({
      describe,
      it,
      takesOver: true,
      createEngine: (options) => bullmqEngine({ ...host.options, ...options, lockMs: 2000 }),
    });

    it('[G-07] runs another tenant’s first response soon, however many of a greedy one’s wait', async () => {
      const engine = bullmqEngine({ ...host.options, queueName: 'fair', concurrency: 1, lockMs: 10_000 });
      const begun: string[] = [];
      const [hasBegun, goOn, ended] = [gate(), gate(), gate()];
      engine.start({
        async run({ key }) {
          begun.push(key.scope);
          hasBegun.open();
          await goOn.opened;
          if (key.scope === 'modest') ended.open();
          return 'ended';
        },
        onError: (error) => begun.push(String(error)),
      });
      await engine.submit({ scope: 'greedy', id: 'first' });
      await hasBegun.opened;
      for (let count = 0; count < 200; count += 1) await engine.submit({ scope: 'greedy', id: `resp_${count}` });
      await engine.submit({ scope: 'modest', id: 'resp_modest' });
      goOn.open();
      await ended.opened;
      expect(begun.indexOf('modest')).toBeLessThan(4);
      await engine.close();
    });
  });

describeRedis('bullmqEngine on a cluster with ioredis', () => {
  let node: Service;
  let cluster: Cluster;

  beforeAll(async () => {
    node = await startRedis({ cluster: true });
    const client = new Redis(node.url);
    // A node that never met another does not know its own address.
    await client.config('SET', 'cluster-announce-ip', '127.0.0.1');
    await client.cluster('ADDSLOTSRANGE', 0, 16_383);
    while (!(await client.cluster('INFO')).includes('cluster_state:ok')) await pause(20);
    client.disconnect();
    cluster = new Cluster([node.url]);
  });
  afterAll(async () => {
    cluster?.disconnect();
    await node?.close();
  });

  backgroundEngineContract({
    describe,
    it,
    takesOver: true,
    createEngine: (options) => bullmqEngine({ connection: cluster, ...options, lockMs: 2000 }),
  });
});
