/** Every endpoint that takes a body, alone in a process whose processor time can be asked for; run by `bodies-process.ts`. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import {
  chatCompletionsRouter,
  functionTools,
  injectTools,
  loadHistory,
  messagesRouter,
  responsesRouter,
  validateMessages,
} from '../../src/index.ts';
import { attachResponsesWebSocket } from '../../src/websocket/index.ts';
import { attackedOptions } from '../support/hostile-bodies.ts';

const options = attackedOptions();
const tools = functionTools({ clock: { description: 'Tells the time.', execute: () => 'noon' } });
const middlewares = [validateMessages(options), loadHistory(options), injectTools({ ...options, tools })];

const app = express()
  .use('/v1', responsesRouter(options), chatCompletionsRouter(options), messagesRouter(options))
  .use('/tools', responsesRouter({ ...options, tools }), messagesRouter({ ...options, tools }))
  .use('/tokligence', responsesRouter({ ...options, dialect: 'tokligence' }))
  .use('/parsed', express.json({ limit: '64mb' }), responsesRouter(options), chatCompletionsRouter(options))
  .use('/proxy', ...middlewares, (req, res) => void res.json({ bytes: JSON.stringify(req.body).length }));
const server = createServer(app);
attachResponsesWebSocket(server, { ...options, path: '/v1/responses' });
server.listen(0, '127.0.0.1');
await once(server, 'listening');

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.((user + system) / 1000);
});
// The cast: a server that listens on TCP has an address.
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
