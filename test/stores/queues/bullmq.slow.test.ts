/** The BullMQ engine: the contract of all engines, on each database and over each driver. */
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { bullmqEngine } from '../../../src/stores/queues/bullmq/bullmq-engine.ts';
import { backgroundEngineContract } from '../../../src/testing/index.ts';
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
