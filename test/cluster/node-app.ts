/** One node of a cluster, alone in its process: a router over the store and the engine that all nodes share; run by `cluster.ts`. */
import { Pool } from 'pg';
import { createClient } from 'redis';
import { batchesRouter } from '../../src/batches.ts';
import { diskFiles, filesRouter } from '../../src/files.ts';
import { chatCompletionsUpstream, type RouterOptions, responsesRouter, type ToolProvider } from '../../src/index.ts';
import type { BackgroundEngine } from '../../src/ports/background/background-engine.ts';
import type { ResponseStore, StoredResponse } from '../../src/ports/store.ts';
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts';
import { type BullmqEngineOptions, bullmqEngine } from '../../src/stores/queues/bullmq/bullmq-engine.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { programs } from '../../src/tools/code-interpreter/index.ts';
import { egressGuard } from '../../src/tools/egress/index.ts';
import { createWebhooks, type WebhookEndpoint, type Webhooks } from '../../src/webhooks.ts';
import { startApp } from '../support/app.ts';
import type { NodeMessage, NodeSetup } from './cluster.ts';

// The cast: `cluster.ts` starts this program.
const setup = JSON.parse(process.env.NODE_SETUP ?? '{}') as NodeSetup;

const LOCK_MS = 1500;

function report(message: NodeMessage): void {
  if (process.connected) process.send?.(message);
}

/** Reports to the test what is about to happen, and waits until it allows that. */
async function ask(what: string): Promise<string> {
  return (await fetch(`${setup.controlURL}/${what}?node=${setup.name}`)).text();
}

interface Database {
  readonly store: ResponseStore;
  readonly engine: BullmqEngineOptions;
}

async function openRedis(url: string): Promise<Database> {
  const client = createClient({ url }).on('error', () => {});
  await client.connect();
  return { store: redisStore({ client }), engine: { connection: client } };
}

async function openPostgres(connectionString: string): Promise<Database> {
  const pool = new Pool({ connectionString, max: 5 }).on('error', () => {});
  const store = postgresStore({ pool });
  await store.setup();
  return { store, engine: { pool } };
}

/** The store, which asks before and after it keeps the end of a response. */
function watchedStore(store: ResponseStore): ResponseStore {
  async function replace(response: StoredResponse, version: number): Promise<boolean> {
    const isEnd = response.resource.status !== 'in_progress';
    if (isEnd) await ask('store/before-end');
    const isReplaced = (await store.replace?.(response, version)) === true;
    if (isEnd) await ask('store/after-end');
    return isReplaced;
  }
  return { ...store, replace };
}

/** The engine, which reports which responses this node claims, and what became of them. */
function watchedEngine(engine: BackgroundEngine): BackgroundEngine {
  const start = engine.start.bind(engine);
  engine.start = (worker) =>
    start({
      onError: (error) => worker.onError(error),
      async run(claimed) {
        const { id } = claimed.key;
        report({ type: 'claimed', id });
        const outcome = await worker.run(claimed);
        report({ type: 'done', id, outcome });
        return outcome;
      },
    });
  return engine;
}

/** Tools whose effects are the requests that the test receives. */
const tools: ToolProvider = {
  name: 'lab',
  list: () => [
    { server: 'lab', name: 'once' },
    { server: 'lab', name: 'again', annotations: { idempotentHint: true } },
    { server: 'lab', name: 'fatal', annotations: { idempotentHint: true } },
  ],
  async call({ name }) {
    const content = await ask(`tool/${name}`);
    if (name === 'fatal') process.exit(1);
    return { content };
  },
};

/** Webhooks to the test's own receiver, which every node delivers. */
function nodeWebhooks(endpoint: WebhookEndpoint, { store, engine }: Database): Webhooks {
  const { hostname, port } = new URL(endpoint.url);
  return createWebhooks({
    endpoints: () => [endpoint],
    engine: bullmqEngine({ ...engine, lockMs: LOCK_MS, queueName: 'webhooks' }),
    guard: egressGuard({ allow: [{ host: hostname }], schemes: ['http'], ports: [Number(port)] }),
    ...{ store, secret: 'a key of sixteen bytes', timeoutMs: 3000, logger: false },
  });
}

const database = await (setup.storeURL.startsWith('redis') ? openRedis : openPostgres)(setup.storeURL);
const { store, engine } = database;
const webhooks = setup.webhook && nodeWebhooks(setup.webhook, database);
const options: RouterOptions = {
  store: watchedStore(store),
  background: { engine: watchedEngine(bullmqEngine({ ...engine, lockMs: LOCK_MS })) },
  secret: 'a key of sixteen bytes',
  upstream: chatCompletionsUpstream({ baseURL: setup.modelURL, apiKey: setup.name, retries: 0 }),
  tools: setup.hasPrograms ? [tools, programs({ limits: { runMs: 60_000 } })] : tools,
  multiAgent: setup.hasPrograms === true,
  scope: () => 'one',
  logger: false,
  limits: setup.limits,
  ...(webhooks ? { webhooks } : {}),
  hooks: { onError: ({ message, cause }) => report({ type: 'error', message: `${message} ${cause ?? ''}` }) },
};
const files = setup.folder === undefined ? undefined : diskFiles({ folder: setup.folder });
const batches =
  files &&
  batchesRouter({
    ...{ files, store, secret: options.secret, scope: () => 'one', logger: false },
    engine: bullmqEngine({ ...engine, lockMs: LOCK_MS, queueName: 'batches' }),
    apis: [responsesRouter({ upstream: options.upstream, logger: false, limits: setup.limits })],
    hooks: options.hooks,
  });
const others = files && batches ? [filesRouter({ files, scope: () => 'one', logger: false }), batches] : [];
const { router, server, url } = await startApp({ options, others });

process.once('SIGTERM', async () => {
  await batches?.drain();
  await router.drain({ timeoutMs: setup.drainMs, server });
  process.exit(0);
});
process.once('disconnect', () => process.exit(1));
report({ type: 'ready', url });
