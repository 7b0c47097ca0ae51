/** The databases that the BullMQ engine is tested on, over each driver. */
import { describePostgres, startPostgres } from '../../support/postgres-server.ts';
import { describeRedis, startRedis } from '../../support/redis-server.ts';
import type { Service } from '../../support/services.ts';
import type { HostName } from './engine-hosts.ts';

/** One database, over one driver. */
export interface EngineDatabase {
  readonly name: HostName;
  readonly describe: (name: string, body: () => void) => void;
  /** With `durable`, what was answered is kept when the server is stopped. */
  start(setup?: { readonly durable?: boolean }): Promise<Service>;
}

/** Every driver. */
export const engineDatabases: readonly EngineDatabase[] = [
  { name: 'ioredis', describe: describeRedis, start: startRedis },
  { name: 'node-redis', describe: describeRedis, start: startRedis },
  { name: 'pg', describe: describePostgres, start: startPostgres },
];
