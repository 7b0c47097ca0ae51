/** Several model servers behind one router, chosen by the model that the request names. */
import express from 'express';
import { chatCompletionsRouter, chatCompletionsUpstream, responsesRouter, type Upstream } from 'express-open-responses';

const small = chatCompletionsUpstream({ baseURL: process.env.SMALL_BASE_URL ?? 'http://localhost:8000/v1' });
const large = chatCompletionsUpstream({ baseURL: process.env.LARGE_BASE_URL ?? 'http://localhost:8001/v1' });
const serverOf = (model: unknown) => (String(model).startsWith('large-') ? large : small);

const upstream: Upstream = {
  name: 'by model',
  // What one server wrote for itself, such as signatures of thoughts, goes back to none but that one.
  stateOwner: (model) => serverOf(model).stateOwner,
  stream: (request, call) => serverOf(request.model).stream(request, call),
  chat: (body, call) => serverOf(body.model).chat(body, call),
  models: async (call) => (await Promise.all([small.models(call), large.models(call)])).flat(),
  close: async () => void (await Promise.all([small.close(), large.close()])),
};

const app = express();
app.use('/v1', responsesRouter({ upstream }), chatCompletionsRouter({ upstream }));

export const server = app.listen(process.env.PORT ?? 3000);
