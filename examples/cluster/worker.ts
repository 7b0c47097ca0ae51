/** One of the serving processes: an Express app whose responses another worker continues if this one dies. */
import { once } from 'node:events';
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { openDatabase } from './database.ts';
import type { Running } from './primary.ts';
import { type Environment, readSettings } from './settings.ts';

/** How long the clients of running responses have when the example is stopped, in milliseconds. */
const DRAIN_MS = 10_000;

/** Starts serving. Rejects if a setting is bad or the database cannot be reached. */
export async function startWorker(env: Environment): Promise<Running> {
  const { port, upstreamBaseURL, upstreamApiKey, secret, ...settings } = readSettings(env);
  const { store, engine, close: closeDatabase } = await openDatabase(settings);
  const upstream = chatCompletionsUpstream({ baseURL: upstreamBaseURL, apiKey: upstreamApiKey });
  const responses = responsesRouter({
    upstream,
    store,
    background: { engine, durable: true },
    secret,
    hooks: { onNote: ({ code, message }) => code === 'taken_over' && console.log(`Worker ${process.pid}: ${message}`) },
  });

  const app = express();
  app.use((_req, res, next) => {
    // For the demo, which ends the worker that has answered.
    res.set('x-worker', String(process.pid));
    next();
  });
  app.use('/v1', responses);
  const server = app.listen(port);
  await once(server, 'listening');

  return {
    async close() {
      await responses.drain({ server, timeoutMs: DRAIN_MS });
      server.close();
      await Promise.all([upstream.close?.(), closeDatabase()]);
    },
  };
}
