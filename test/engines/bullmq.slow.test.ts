/** The BullMQ engine: the contract of all engines, on each database and over each driver. */
import { bullmqEngine } from '../../src/engines/bullmq/bullmq-engine.ts';
import { backgroundEngineContract } from '../../src/testing/index.ts';
import type { Service } from '../support/services.ts';
import { engineDatabases } from './engine-databases.ts';
import { type HostConnection, hosts } from './engine-hosts.ts';

for (const database of engineDatabases)
  database.describe(`bullmqEngine over ${database.name}`, () => {
    let server: Service;
    let host: HostConnection;

    beforeAll(async () => {
      server = await database.start();
      host = await hosts[database.name](server.url);
    });
    afterAll(async () => {
      await host?.end();
      await server?.close();
    });

    backgroundEngineContract({
      describe,
      it,
      takesOver: true,
      createEngine: (options) => bullmqEngine({ ...host.options, ...options, lockMs: 2000 }),
    });
  });
