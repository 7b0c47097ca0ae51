/** The engines of background responses, and one of the host's own. */
import {
  type BackgroundEngine,
  type BackgroundWorker,
  type ClaimedRun,
  inProcessEngine,
  type ResponseKey,
} from 'express-open-responses';
import { type BullmqEngineOptions, type BullmqPool, bullmqEngine } from 'express-open-responses/engines/bullmq';
import { backgroundEngineContract, type EngineContractOptions } from 'express-open-responses/testing';
import { Cluster, Redis } from 'ioredis';
import pg from 'pg';
import { createClient } from 'redis';

const pool: BullmqPool = new pg.Pool();
const options: BullmqEngineOptions = { pool, queueName: undefined, concurrency: 10, lockMs: 5000 };
bullmqEngine(options);
bullmqEngine({ connection: new Redis() });
bullmqEngine({ connection: new Cluster(['redis://localhost']) });
bullmqEngine({ connection: createClient(), prefix: '{mine}' });
bullmqEngine({ connection: { host: 'localhost', port: 6379 } });

/** One that keeps nothing. */
export class OwnEngine implements BackgroundEngine {
  readonly name = 'own';
  readonly takesOver = false;
  private worker: BackgroundWorker | undefined;

  start(worker: BackgroundWorker): void {
    this.worker = worker;
  }

  async submit(key: ResponseKey): Promise<void> {
    const claimed: ClaimedRun = { key, signal: new AbortController().signal };
    await this.worker?.run(claimed);
  }

  async release(): Promise<void> {}

  async close(): Promise<void> {}
}

const engine: BackgroundEngine = inProcessEngine();
backgroundEngineContract({
  it: (_name, run) => void run,
  createEngine: (_options: EngineContractOptions) => engine,
});
