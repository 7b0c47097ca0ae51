/** Two versions of the API side by side: a conversation that began with one continues with the other. */
import express from 'express';
import { chatCompletionsUpstream, memoryStore, responsesRouter } from 'express-open-responses';

const shared = {
  upstream: chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' }),
  store: memoryStore(),
};

const app = express();
app.use('/v1', responsesRouter(shared));
app.use('/v2', responsesRouter({ ...shared, show: { reasoning: 'spec', toolCalls: 'function_call', queued: true } }));

export const server = app.listen(process.env.PORT ?? 3000);
