/**
 * One node of a cluster under test: a router over the database and the queue that its nodes share, or over memory and the
 * in-process engine. The third argument selects them, as JSON: `name`, `database`, `url`, `queueName`, `lockMs` and `concurrency`.
 */
import { createServer } from 'node:http';
import { serve } from './serve.mjs';

const { name, database, url, queueName, lockMs, concurrency } = JSON.parse(process.argv[3]);
const silent = () => {};

serve(async (port) => {
  const { chatCompletionsUpstream, responsesRouter } = await import('express-open-responses');
  const { default: express } = await import('express');
  const upstream = chatCompletionsUpstream({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: name, retries: 0 });
  const kept = { ...(await openers[database]()), secret: 'a key for the bench' };
  return createServer(express().use('/v1', responsesRouter({ upstream, logger: false, ...kept })));
});

const openers = {
  async memory() {
    const { memoryStore } = await import('express-open-responses');
    return { store: memoryStore() };
  },

  async redis() {
    const { createClient } = await import('redis');
    const client = await createClient({ url }).on('error', silent).connect();
    const { redisStore } = await import('express-open-responses/stores/redis');
    return { store: redisStore({ client }), background: { engine: await engine({ connection: client }) } };
  },

  async postgres() {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({ connectionString: url }).on('error', silent);
    const { postgresStore } = await import('express-open-responses/stores/postgres');
    const store = postgresStore({ pool });
    await store.setup();
    return { store, background: { engine: await engine({ pool }) } };
  },
};

async function engine(connection) {
  const { bullmqEngine } = await import('express-open-responses/engines/bullmq');
  return bullmqEngine({ ...connection, queueName, lockMs, concurrency });
}
