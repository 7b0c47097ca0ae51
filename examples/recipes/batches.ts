/** Batches of requests, whose end the tenant's own endpoint is told of. */
import express from 'express';
import { chatCompletionsUpstream, memoryStore, openResponses } from 'express-open-responses';
import { batchesApi } from 'express-open-responses/batches';
import { egressGuard } from 'express-open-responses/egress';
import { diskFiles, filesApi } from 'express-open-responses/files';
import { createWebhooks, type WebhookEndpoint } from 'express-open-responses/webhooks';

const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });
const files = diskFiles({ folder: process.env.FILES_FOLDER ?? 'files' });
const store = memoryStore();
const scope = (req: express.Request) => req.get('x-tenant') ?? 'nobody';

// Your database. Hosts of your own network may receive, too.
const endpoints = new Map<string, readonly WebhookEndpoint[]>();
const guard = egressGuard({
  allow: [{ host: '127.0.0.1' }],
  schemes: ['http', 'https'],
  ports: [443, Number(process.env.HOOK_PORT ?? 443)],
});
const webhooks = createWebhooks({ endpoints: (tenant) => endpoints.get(tenant) ?? [], store, guard });

const api = openResponses({ upstream, store, scope, webhooks, apis: [filesApi({ files }), batchesApi({ files })] });
const app = express();
app.use('/v1', api.router);
app.post('/endpoint', express.json(), async (req, res, next) => {
  const { url, secret } = req.body;
  try {
    const verification = await webhooks.verify(scope(req), { url, secret });
    endpoints.set(scope(req), [{ url, secret, verification }]);
    res.sendStatus(204);
  } catch (error) {
    next(error);
  }
});

export const server = app.listen(process.env.PORT ?? 3000);
server.once('close', () => void api.close());
