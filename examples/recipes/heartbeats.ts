/** A proxy whose streams are never silent for long, however long the model thinks. */
import express from 'express';
import { heartbeat } from 'express-open-responses';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';

const target = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';
const intervalMs = Number(process.env.HEARTBEAT_MS ?? 15_000);

const app = express();
// Only of a body that is read does `heartbeat` know whether a stream is wanted; `fixRequestBody` writes it to the server again.
app.use('/v1', express.json({ limit: '32mb' }), heartbeat({ intervalMs }));
app.use('/v1', createProxyMiddleware({ target, changeOrigin: true, on: { proxyReq: fixRequestBody } }));

export const server = app.listen(process.env.PORT ?? 3000);
