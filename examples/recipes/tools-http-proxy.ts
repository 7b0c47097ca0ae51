/** The tools of MCP servers for http-proxy-middleware. */
import express from 'express';
import { runTools } from 'express-open-responses';
import { mcpTools } from 'express-open-responses/mcp';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';

const target = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';
const tools = mcpTools({ configFile: process.env.MCP_CONFIG ?? 'mcp.json' });

// The proxy, unchanged; fixRequestBody sends `req.body`, which runTools rewrites.
const proxy = createProxyMiddleware({ target, changeOrigin: true, on: { proxyReq: fixRequestBody } });

const app = express();
app.use('/v1', runTools({ tools, handler: proxy }));

export const server = app.listen(process.env.PORT ?? 3000);
server.once('close', () => tools.close());
