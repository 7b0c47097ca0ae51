/** What the agents reach: the example app, or a bare one with a WebSocket, over a model that follows a script. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import express from 'express';
import { start } from '../../build/examples/express/start.js';
import {
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  messagesRouter,
  responsesRouter,
} from '../../dist/esm/index.js';
import { mcpRouter } from '../../dist/esm/mcp.js';
import { demoSearch, startFakeUpstream } from '../../dist/esm/testing/index.js';
import { webSearch } from '../../dist/esm/tools/web-search/index.js';

const WEBSOCKET = join(import.meta.dirname, '../../dist/esm/hosts/websocket/index.js');

/** Whether the package that was built has a WebSocket. */
export const hasWebSocket = existsSync(WEBSOCKET);

/** Starts the API; `posts` are the requests to it that came over plain HTTP. With `options` it is the Messages API over these. */
export async function serve(model, { websocket = false, searches = false, companyKey, options }) {
  const fake = await startFakeUpstream({ reply: model, models: ['fake-model', 'my-model'] });
  const api = await startFor({ websocket, searches, companyKey, options }, fake.baseURL);
  const posts = [];
  const count = ({ request }) => {
    if (request.method === 'POST' && /^\/v1\/(responses|messages)/.test(request.url)) posts.push(request.url);
  };
  subscribe('http.server.request.start', count);

  async function close() {
    unsubscribe('http.server.request.start', count);
    await Promise.all([fake.close(), api.close()]);
  }

  return { url: `${api.url}/v1`, posts, requests: fake.requests, close };
}

function startFor({ websocket, searches, companyKey, options }, baseURL) {
  if (companyKey) return companyApp(companyKey, baseURL);
  if (options) return messagesApp(options(baseURL));
  if (searches) return bareApp(baseURL, { tools: webSearch({ engine: demoSearch(), pages: false }) });
  return websocket ? bareApp(baseURL) : exampleApp(baseURL);
}

async function exampleApp(baseURL) {
  return start({ PORT: '0', LOG: 'off', MCP_CONFIG: 'off', UPSTREAM_BASE_URL: baseURL }, () => {});
}

async function bareApp(baseURL, more = {}) {
  const { attachResponsesWebSocket } = await import(WEBSOCKET);
  const upstream = chatCompletionsUpstream({ baseURL, apiKey: 'upstream-key' });
  const options = { upstream, store: memoryStore(), ...more };
  const server = createServer(express().use('/v1', responsesRouter(options)));
  const socket = attachResponsesWebSocket(server, options);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function close() {
    await socket.close();
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await Promise.all([closed, upstream.close()]);
  }

  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

/** Both APIs of models, which have no tools, and beside them an MCP server for those who have the company's key. */
function companyApp(companyKey, baseURL) {
  const options = { upstream: chatCompletionsUpstream({ baseURL, apiKey: 'upstream-key' }), store: memoryStore() };
  const tools = functionTools({
    company_weather: {
      description: 'The weather.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      execute: ({ city }) => `Sunny in ${city}.`,
    },
  });
  const admit = (req, res, next) =>
    req.get('authorization') === `Bearer ${companyKey}` ? next() : res.sendStatus(401);
  const app = express().use('/v1', responsesRouter(options), messagesRouter(options));
  return appOf(app.use('/v1/mcp', admit).use('/v1', mcpRouter({ tools })), options);
}

function messagesApp(options) {
  return appOf(express().use('/v1', messagesRouter(options)), options);
}

async function appOf(app, options) {
  const server = createServer(app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function close() {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await Promise.all([closed, options.upstream.close()]);
  }

  return { url: `http://127.0.0.1:${server.address().port}`, close };
}
