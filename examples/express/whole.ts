/** Five APIs, the WebSocket and the inspector, behind the app's own authentication: one call opens them, and one closes them. */
import type { IncomingMessage } from 'node:http';
import express, { type Request } from 'express';
import { chatCompletionsUpstream, openResponses } from 'express-open-responses';
import { diskFiles, filesApi } from 'express-open-responses/files';
import { createInspector } from 'express-open-responses/inspector';
import { createVectorStores, fileSearch, memoryVectors } from 'express-open-responses/vector-stores';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';

const users = new Map([['Bearer key-of-ada', 'ada']]);
// Anthropic's clients send `x-api-key`, all others a bearer token.
const findUser = ({ headers }: IncomingMessage) => users.get(headers.authorization ?? `Bearer ${headers['x-api-key']}`);
const refusal = { status: 401, message: 'Unknown API key.' };

const baseURL = process.env.OPENAI_BASE_URL ?? 'http://localhost:8000/v1';
const files = diskFiles({ folder: process.env.FILES ?? 'files' });
const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings: { baseURL, model: 'bge-m3' } });
const inspector = createInspector();
const api = openResponses({
  upstream: chatCompletionsUpstream({ baseURL, apiKey: process.env.OPENAI_API_KEY ?? '' }),
  tools: fileSearch({ vectorStores }),
  apis: [filesApi({ files }), vectorStores.api],
  scope: (req: Request) => findUser(req) ?? '',
  inspector,
});

const app = express();
app.use('/v1', (req, res, next) => (findUser(req) ? next() : res.status(401).json({ error: refusal })), api.router);
app.use('/inspect', inspector.router);
app.get('/health', async (_req, res) => res.json(await api.status()));
const server = app.listen(process.env.PORT ?? 3000);
attachResponsesWebSocket(server, api, {
  authorize(request) {
    const scope = findUser(request);
    return scope ? { scope } : refusal;
  },
});
process.once('SIGTERM', () => void api.close({ server }));
