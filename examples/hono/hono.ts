/** All APIs under /v1 of a Hono app, and the WebSocket on its server; any handler from Request to Response is mounted in the same way. */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { openResponses } from 'express-open-responses/core';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { Hono } from 'hono';

const api = openResponses({ basePath: '/v1' });

const app = new Hono();
app.all('/v1/*', ({ req }) => api.fetch(req.raw));

const server = createServer(getRequestListener(app.fetch)).listen(3000);
attachResponsesWebSocket(server, api);
