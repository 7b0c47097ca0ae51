/** Several model servers behind one router: two with the same small model, and one for large models. */
import express from 'express';
import { chatCompletionsUpstream, openResponses } from 'express-open-responses';
import { balanced, routedUpstream } from 'express-open-responses/routing';

const at = (baseURL: string) => chatCompletionsUpstream({ baseURL });
const small = at(process.env.SMALL_BASE_URL ?? 'http://localhost:8000/v1');
const spare = at(process.env.SPARE_BASE_URL ?? 'http://localhost:8002/v1');
const large = at(process.env.LARGE_BASE_URL ?? 'http://localhost:8001/v1');

const upstream = routedUpstream({
  routes: { 'large-*': large, '*': balanced([small, spare], { by: 'sticky' }) },
  aliases: { best: 'large-model' },
});

const app = express();
app.use('/v1', openResponses({ upstream }).router);

export const server = app.listen(process.env.PORT ?? 3000);
