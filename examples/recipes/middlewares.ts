/** A proxy with middlewares in front of it: heartbeats, history, valid conversations, and tools that run in this process. */
import express from 'express';
import {
  functionTools,
  heartbeat,
  loadHistory,
  memoryStore,
  recordTurn,
  runTools,
  validateMessages,
} from 'express-open-responses';
import { proxy } from './fetch-proxy.ts';

const tools = functionTools({ time: { description: 'The time.', execute: () => new Date().toISOString() } });
const options = { tools, store: memoryStore() };

const app = express();
app.post(
  '/v1/chat/completions',
  heartbeat(),
  recordTurn(options),
  loadHistory(options),
  validateMessages(options),
  runTools({ ...options, handler: proxy }),
);

export const server = app.listen(process.env.PORT ?? 3000);
