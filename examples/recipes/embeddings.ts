/** Embeddings, audio and images of the model server through the host's key, beside the APIs of this package. */
import express from 'express';
import { chatCompletionsUpstream, PASSED_PATHS, passThroughRouter, responsesRouter } from 'express-open-responses';

const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL, apiKey: process.env.UPSTREAM_KEY });
const users = new Map([['Bearer key-of-ada', 'ada']]);

const app = express();
app.use('/v1', function companyAuth(req, res, next) {
  if (users.has(req.get('authorization') ?? '')) next();
  else res.sendStatus(401);
});
const scope = (req: express.Request) => users.get(req.get('authorization') ?? '') ?? '';
app.use('/v1', responsesRouter({ upstream, scope }));
app.use('/v1', passThroughRouter({ upstream, scope, paths: [...PASSED_PATHS, 'POST /score'] }));

export const server = app.listen(process.env.PORT ?? 3000);
