/** The ways of a host to connect the BullMQ engine; also for processes without a test runner. */
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import type { BullmqEngineOptions } from '../../../src/stores/queues/bullmq/bullmq-engine.ts';

/** A host's own connection, and how the host ends it. */
export interface HostConnection {
  readonly options: BullmqEngineOptions;
  /** Whether the host can still use it. */
  works(): Promise<boolean>;
  end(): Promise<unknown>;
}

/** The name of a way. */
export type HostName = 'ioredis' | 'node-redis' | 'pg';

/** Connects to the server at the URL; lost connections are not reported. */
export const hosts: Readonly<Record<HostName, (url: string) => Promise<HostConnection>>> = {
  async ioredis(url) {
    const connection = new Redis(url).on('error', () => {});
    return {
      options: { connection },
      works: async () => (await connection.ping()) === 'PONG',
      end: async () => connection.disconnect(),
    };
  },
  async 'node-redis'(url) {
    const connection = createClient({ url }).on('error', () => {});
    await connection.connect();
    return {
      options: { connection },
      works: async () => (await connection.ping()) === 'PONG',
      end: async () => connection.destroy(),
    };
  },
  async pg(connectionString) {
    const pool = new Pool({ connectionString }).on('error', () => {});
    return {
      options: { pool },
      works: async () => (await pool.query('SELECT 1')).rows.length === 1,
      end: () => pool.end(),
    };
  },
};
