/** One log and one health route: the router writes its lines to the app's logger, and reports which parts work. */
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { destination, pino } from 'pino';

const logger = pino(destination({ dest: process.env.LOG_FILE ?? 1, sync: true }));
const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });
const router = responsesRouter({ upstream, logger });

const app = express();
app.use('/v1', router);
app.get('/health', async (_req, res) => {
  const status = await router.status();
  res.status(status.store.ok ? 200 : 503).json(status);
});

export const server = app.listen(process.env.PORT ?? 3000);
