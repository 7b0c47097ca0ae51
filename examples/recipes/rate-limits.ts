/** Limits the requests per minute of each key, and the concurrent responses of all. */
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';

// In OpenAI's envelope, so that SDKs show the message.
const message = {
  error: { message: 'Rate limit reached.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
};
const perMinute = rateLimit({
  windowMs: 60_000,
  limit: Number(process.env.REQUESTS_PER_MINUTE ?? 60),
  keyGenerator: (req) => req.get('authorization') ?? ipKeyGenerator(req.ip ?? ''),
  message,
});

const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });
const concurrentTurns = Number(process.env.CONCURRENT_TURNS ?? 50);

const app = express();
app.use('/v1', perMinute, responsesRouter({ upstream, limits: { turns: { concurrentTurns } } }));

export const server = app.listen(process.env.PORT ?? 3000);
