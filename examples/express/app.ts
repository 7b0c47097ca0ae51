/** An ordinary Express app with logging, authentication and a route of its own, in which all APIs are mounted. */
import { randomUUID } from 'node:crypto';
import express, { type Express } from 'express';
import type { OpenResponsesRouter } from 'express-open-responses';
import type { Inspector } from 'express-open-responses/inspector';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import { requireApiKey } from './require-api-key.ts';

/** The parts of the app. */
export interface AppParts {
  readonly api: Pick<OpenResponsesRouter, 'router'>;
  readonly inspector: Inspector;
  readonly apiKeys: readonly string[];
  readonly log: Logger;
}

/** The app. Only the API requires a key; the inspector answers only this machine. */
export function createApp({ api, inspector, apiKeys, log }: AppParts): Express {
  const app = express();
  app.use(pinoHttp({ logger: log, genReqId, serializers }));
  app.get('/health', (_req, res) => {
    res.json({ status: 'ok' });
  });
  app.use('/v1', requireApiKey(apiKeys), api.router);
  app.use('/inspect', inspector.router);
  return app;
}

/** Written into the headers, so that the router's hooks and the model server know the request by the same id. */
function genReqId({ headers }: { headers: Record<string, string | string[] | undefined> }): string {
  const id = headers['x-request-id'] ?? `req_${randomUUID()}`;
  headers['x-request-id'] = id;
  return String(id);
}

/** Without the headers, which hold keys. */
const serializers = {
  req: ({ id, method, url }: { id: string; method: string; url: string }) => ({ id, method, url }),
  res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
};
