/** One log for HTTP and for what goes on in it: the lines of a request share its id. */
import { randomUUID } from 'node:crypto';
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import pino from 'pino';
import { pinoHttp } from 'pino-http';

const redact = ['req.headers.authorization', 'req.headers.cookie'];
const logger = pino({ redact }, pino.destination({ dest: process.env.LOG_FILE ?? 1, sync: true }));

// Put into the headers, where the router and the model server find it; the client's own id is kept.
function genReqId(req) {
  req.headers['x-request-id'] ??= randomUUID();
  return req.headers['x-request-id'];
}

const hooks = {
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
