/** The same on Node's own server, without a framework. */
import { createServer } from 'node:http';
import { functionTools, runTools } from 'express-open-responses';
import { proxy } from './fetch-proxy.ts';

const tools = functionTools({ time: { description: 'The time.', execute: () => new Date().toISOString() } });
const chat = runTools({ tools, handler: proxy });

export const server = createServer((req, res) => {
  if (req.url !== '/v1/chat/completions') return res.writeHead(404).end();
  chat(req, res, () => (res.headersSent ? res.destroy() : res.writeHead(500).end()));
}).listen(process.env.PORT ?? 3000);
