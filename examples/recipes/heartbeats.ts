/** A proxy whose streams are never silent for long, however long the model thinks. */
import express from 'express';
import { heartbeat } from 'express-open-responses';
import { createProxyMiddleware } from 'http-proxy-middleware';

const target = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';
const intervalMs = Number(process.env.HEARTBEAT_MS ?? 15_000);

const app = express();
app.use('/v1', heartbeat({ intervalMs }), createProxyMiddleware({ target, changeOrigin: true }));

export const server = app.listen(process.env.PORT ?? 3000);
