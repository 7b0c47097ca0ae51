/** The first process: it serves nothing itself, starts two workers behind one port, and replaces those that die. */
import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type Environment, readSettings } from './settings.ts';
import { startSlowModel } from './slow-model.ts';

const WORKERS = 2;

/** A running process of the example. */
export interface Running {
  /** Lets running responses finish or hands them over, then stops. */
  close(): Promise<void>;
}

/** Starts the workers, and the demo model if there is no other. Rejects if a setting is bad or a worker cannot start. */
export async function startPrimary(env: Environment): Promise<Running> {
  const settings = readSettings(env);
  const demo = settings.upstreamBaseURL === undefined ? await startSlowModel() : undefined;
  if (demo) console.log(`No UPSTREAM_BASE_URL: using a slow demo model at ${demo.baseURL}`);
  const workerEnv = {
    ...env,
    UPSTREAM_BASE_URL: settings.upstreamBaseURL ?? demo?.baseURL,
    // Without a key of your own, responses that were running when all processes ended cannot continue.
    SECRET: settings.secret ?? randomBytes(32).toString('base64'),
  };
  let isStopping = false;
  cluster.on('exit', ({ process: { pid } }, _code, signal) => {
    if (isStopping) return;
    console.log(`Worker ${pid} has died (${signal ?? 'it ended'}); another one starts`);
    startOne(workerEnv).catch((error: unknown) => isStopping || fail(error));
  });

  const ports = await Promise.all(Array.from({ length: WORKERS }, () => startOne(workerEnv)));
  console.log(`The Responses API is at http://localhost:${ports[0]}/v1`);
  return {
    async close() {
      isStopping = true;
      await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => worker && stopOne(worker)));
      await demo?.close();
    },
  };
}

/** Resolves with the port. A worker that ends before it listens would end again, for example without its database. */
async function startOne(env: Environment): Promise<number> {
  const worker = cluster.fork(env);
  const died = new AbortController();
  worker.once('exit', () => died.abort());
  try {
    const [{ port }] = await once(worker, 'listening', { signal: died.signal });
    return port;
  } catch {
    throw new Error('A worker could not start.');
  }
}

async function stopOne(worker: Worker): Promise<void> {
  const exited = once(worker, 'exit');
  worker.process.kill('SIGTERM');
  await exited;
}

function fail(error: unknown): never {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
