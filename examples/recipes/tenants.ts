/** Tenants with a model server each, and one store in which they do not see each other's responses. */
import express, { type Router } from 'express';
import { chatCompletionsUpstream, memoryStore, responsesRouter } from 'express-open-responses';

const tenants = {
  acme: { baseURL: process.env.ACME_BASE_URL ?? 'http://acme.internal:8000/v1', apiKey: process.env.ACME_KEY },
  globex: {
    baseURL: process.env.GLOBEX_BASE_URL ?? 'http://globex.internal:8000/v1',
    apiKey: process.env.GLOBEX_KEY,
  },
};
const keys = new Map<string | undefined, string>([
  ['Bearer key-of-acme', 'acme'],
  ['Bearer key-of-globex', 'globex'],
]);

const store = memoryStore();
const routers = new Map<string | undefined, Router>();
for (const [tenant, connection] of Object.entries(tenants)) {
  const upstream = chatCompletionsUpstream(connection);
  routers.set(tenant, responsesRouter({ upstream, store, scope: () => tenant }));
}

const app = express();
app.use('/v1', function byTenant(req, res, next) {
  const router = routers.get(keys.get(req.get('authorization')));
  if (router) router(req, res, next);
  else res.sendStatus(401);
});

export const server = app.listen(process.env.PORT ?? 3000);
