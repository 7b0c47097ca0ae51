/** The databases that the BullMQ engine is tested on, each with its ways to connect. */
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import type { BullmqEngineOptions } from '../../src/engines/bullmq/bullmq-engine.ts';
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import type { Service } from '../support/services.ts';

/** A host's own connection, and how the host ends it. */
export interface HostConnection {
  readonly options: BullmqEngineOptions;
  /** Whether the host can still use it. */
  works(): Promise<boolean>;
  end(): Promise<unknown>;
}

/** One way to give the engine a database. */
export interface EngineDatabase {
  readonly name: string;
  readonly describe: (name: string, body: () => void) => void;
  /** With `durable`, what was answered is kept when the server is stopped. */
  start(setup?: { readonly durable?: boolean }): Promise<Service>;
  connect(url: string): Promise<HostConnection>;
}

const ioredis: EngineDatabase = {
  name: 'Redis with ioredis',
  describe: describeRedis,
  start: startRedis,
  async connect(url) {
    const connection = new Redis(url).on('error', () => {});
    return {
      options: { connection },
      works: async () => (await connection.ping()) === 'PONG',
      end: async () => connection.disconnect(),
    };
  },
};

const nodeRedis: EngineDatabase = {
  name: 'Redis with node-redis',
  describe: describeRedis,
  start: startRedis,
  async connect(url) {
    const connection = createClient({ url }).on('error', () => {});
    await connection.connect();
    return {
      options: { connection },
      works: async () => (await connection.ping()) === 'PONG',
      end: async () => connection.destroy(),
    };
  },
};

const postgres: EngineDatabase = {
  name: 'PostgreSQL',
  describe: describePostgres,
  start: startPostgres,
  async connect(connectionString) {
    const pool = new Pool({ connectionString }).on('error', () => {});
    return {
      options: { pool },
      works: async () => (await pool.query('SELECT 1')).rows.length === 1,
      end: () => pool.end(),
    };
  },
};

/** Every way. */
export const engineDatabases: readonly EngineDatabase[] = [ioredis, nodeRedis, postgres];
/** One way to each database. */
export const differentDatabases: readonly EngineDatabase[] = [ioredis, postgres];
