/** A proxy in front of a server that stores nothing; its clients continue conversations by `previous_response_id`. */
import express from 'express';
import { loadHistory, memoryStore, recordTurn } from 'express-open-responses';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';

const target = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';
const proxy = createProxyMiddleware({ target, changeOrigin: true, on: { proxyReq: fixRequestBody } });
const store = memoryStore({ maxResponses: 10_000, ttlMs: 24 * 60 * 60 * 1000 });

const app = express();
app.use('/v1', recordTurn({ store }), loadHistory({ store }), proxy);

export const server = app.listen(process.env.PORT ?? 3000);
