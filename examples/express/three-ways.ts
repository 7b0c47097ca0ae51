/** Three ways to use the package: a router with defaults, all APIs with parts of your choice, and middlewares in front of a proxy. */
import express from 'express';
import {
  chatCompletionsUpstream,
  functionTools,
  loadHistory,
  memoryStore,
  openResponses,
  recordTurn,
  responsesRouter,
  runTools,
} from 'express-open-responses';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';

const target = process.env.OPENAI_BASE_URL ?? 'http://localhost:8000/v1';
const upstream = chatCompletionsUpstream({ baseURL: target, apiKey: process.env.OPENAI_API_KEY ?? '' });
const store = memoryStore();
const tools = functionTools({ time: { description: 'The time.', execute: () => new Date().toISOString() } });
const proxy = createProxyMiddleware({ target, changeOrigin: true, on: { proxyReq: fixRequestBody } });

const app = express();
// 1. The Responses API; every option has a default.
app.use('/v1', responsesRouter());
// 2. All APIs in one call, with tools that the server runs, such as those of MCP servers.
app.use('/all/v1', openResponses({ upstream, store, tools }).router);
// 3. An existing proxy, to which the middlewares in front of it add history and tools.
app.use('/proxy/v1', recordTurn({ store }), loadHistory({ store }), runTools({ tools, handler: proxy }));
app.listen(3000);
