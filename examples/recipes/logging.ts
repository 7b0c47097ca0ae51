/** One log for HTTP requests and the work behind them: the lines of a request share its id. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express from 'express';
import { chatCompletionsUpstream, type Hooks, responsesRouter } from 'express-open-responses';
import { destination, pino } from 'pino';
import { pinoHttp } from 'pino-http';

const redact = ['req.headers.authorization', 'req.headers.cookie'];
const logger = pino({ redact }, destination({ dest: process.env.LOG_FILE ?? 1, sync: true }));

// Put into the headers, where the router and the model server find it; the client's own id is kept.
function genReqId({ headers }: IncomingMessage): string {
  const id = String(headers['x-request-id'] ?? randomUUID());
  headers['x-request-id'] = id;
  return id;
}

const hooks: Hooks = {
  onResponse: (info) => logger.info(info, 'response'),
  onToolCall: (info) => logger.info(info, 'tool call'),
  onNote: (note, { requestId }) => logger.warn({ requestId, ...note }, 'note'),
  onError: (err, { requestId }) => logger.error({ requestId, err }, 'error'),
};

const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });

const app = express();
app.use(pinoHttp({ logger, genReqId }));
app.use('/v1', responsesRouter({ upstream, hooks }));

export const server = app.listen(process.env.PORT ?? 3000);
