/** A proxy whose model server never sees an address or a number of your users, and whose answers contain no keys. */
import express from 'express';
import { guard } from 'express-open-responses';
import { pii } from 'express-open-responses/guards';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';

const target = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';
const guards = guard({
  guards: { input: [pii({ restore: true })], output: [pii({ kinds: ['card', 'key'] })] },
  hooks: { onGuard: ({ rule, action, place, scope }) => console.info(rule, action, place, scope) },
});

const app = express();
app.use('/v1', guards, createProxyMiddleware({ target, changeOrigin: true, on: { proxyReq: fixRequestBody } }));

export const server = app.listen(process.env.PORT ?? 3000);
