/**
 * The server of the soak: every API over every store, with tools of all kinds, guards, a budget, an inspector and a WebSocket. It is started with
 * the ports of the model server and of the MCP server, and the URLs of Redis and PostgreSQL where these are.
 */

import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import * as ours from 'express-open-responses';
import { tokenBudget } from 'express-open-responses/budgets';
import { diskFiles, filesRouter } from 'express-open-responses/files';
import { pii } from 'express-open-responses/guards';
import { createInspector } from 'express-open-responses/inspector';
import { mcpTools } from 'express-open-responses/mcp';
import { balanced } from 'express-open-responses/routing';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { productRouter } from './product.mjs';

const [, , modelPort, mcpPort, redisUrl, postgresUrl] = process.argv;
const require = createRequire(import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'soak-'));
/** Small limits, so that stores are full before the measurement begins. */
const KEPT = 200;
const STDIO = fileURLToPath(new URL('../../test/support/mcp-stdio-server.mjs', import.meta.url));

const faults = [];
for (const name of ['unhandledRejection', 'uncaughtException', 'warning'])
  process.on(name, (reason) => faults.push(`${name}: ${reason?.stack ?? reason}`));

const upstream = ours.chatCompletionsUpstream({
  baseURL: `http://127.0.0.1:${modelPort}/v1`,
  apiKey: 'soak',
  retries: 0,
});
const echo = ours.functionTools({ echo: { parameters: {}, execute: ({ text }) => text } });
const options = {
  upstream,
  hooks: { onError() {} },
  logger: false,
  secret: 'a key for all of the soak',
  limits: { turns: { eventsTtlMs: 5000 } },
};

const app = express();
const mounts = {
  memory: { store: ours.memoryStore({ maxResponses: KEPT }), tools: echo, background: { durable: true } },
  sqlite: { store: await sqlite(), tools: mcpTools({ servers: { far: { url: `http://127.0.0.1:${mcpPort}/mcp` } } }) },
  stdio: {
    store: ours.memoryStore({ maxResponses: KEPT }),
    tools: mcpTools({ servers: { near: { command: process.execPath, args: [STDIO], allowedTools: ['echo'] } } }),
    upstream: balanced([upstream]),
    guards: { input: [pii()], output: [pii()], tools: [pii()] },
    budget: tokenBudget({
      limits: { tokens: { points: 1e12, duration: 60 } },
      countTokens: (text) => text.length,
    }),
  },
  ...(redisUrl && { redis: { store: await redis() } }),
  ...(postgresUrl && { postgres: { store: await postgres() } }),
};
const inspector = createInspector({ maxResponses: KEPT, maxBytes: 4 * 1024 * 1024 });
for (const [name, own] of Object.entries(mounts)) {
  const all = inspector.observe({ ...options, ...own });
  app.use(`/${name}/v1`, ours.openResponses(all).router);
}
// As many uploads as there are clients, all of which are one tenant.
const files = { files: diskFiles({ folder: join(folder, 'files') }), quota: { uploads: 64 } };
app.use('/memory/v1', filesRouter({ ...files, logger: false }));
app.use('/product/v1', await productRouter({ options: inspector.observe(options), folder, kept: KEPT, faults }));
app.use('/inspect', inspector.router);
const server = createServer(app);
server.keepAliveTimeout = 0;
attachResponsesWebSocket(
  server,
  { ...options, ...mounts.memory, background: undefined },
  { path: '/memory/v1/responses' },
);

server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, mounts: Object.keys(mounts) }));
process.once('disconnect', () => process.exit());
process.on('message', () => process.send(sample()));

function sample() {
  // Only the next collection frees what a finalizer releases.
  for (let round = 0; round < 3; round += 1) globalThis.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  const kinds = process.getActiveResourcesInfo();
  const count = (kind) => kinds.filter((each) => kind.test(each)).length;
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  return {
    rss: rss / 1024,
    heap: (heapUsed + external) / 1024,
    handles: kinds.length,
    sockets: count(/TCP|Pipe/),
    timers: count(/Timeout|Immediate/),
    listeners,
    faults: faults.splice(0),
  };
}

async function sqlite() {
  const { sqliteStore } = await import('express-open-responses/stores/sqlite');
  return sqliteStore({ database: new (require('libsql'))(join(folder, 'responses.db')), ttlMs: 30_000 });
}

async function redis() {
  const { redisStore } = await import('express-open-responses/stores/redis');
  const { createClient } = await import('redis');
  // The client reconnects by itself when the server is back.
  const client = await createClient({ url: redisUrl, socket: { reconnectStrategy: 200 } })
    .on('error', () => {})
    .connect();
  return redisStore({ client });
}

async function postgres() {
  const { postgresStore } = await import('express-open-responses/stores/postgres');
  const { default: pg } = await import('pg');
  return postgresStore({ pool: new pg.Pool({ connectionString: postgresUrl }).on('error', () => {}) });
}
