/** Every endpoint that takes a body, alone in a process whose work can be asked for; run by `bodies-process.ts`. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import express from 'express';
import { attachResponsesWebSocket } from '../../src/hosts/websocket/index.ts';
import {
  chatCompletionsRouter,
  functionTools,
  injectTools,
  loadHistory,
  messagesRouter,
  responsesRouter,
  validateMessages,
} from '../../src/index.ts';
import { attackedOptions } from '../support/hostile-bodies.ts';
import { countWork, endCounting } from '../support/work.ts';

/** Bytes that came out of Node's decompression. */
let inflated = 0;
for (const stream of [zlib.createGunzip(), zlib.createInflate(), zlib.createBrotliDecompress()]) {
  const prototype: Transform = Object.getPrototypeOf(stream);
  const { push } = prototype;
  prototype.push = function (this: Transform, bytes: Buffer | null, encoding?: BufferEncoding) {
    inflated += bytes?.length ?? 0;
    return push.call(this, bytes, encoding);
  };
}

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
attachResponsesWebSocket(server, options);
server.listen(0, '127.0.0.1');
await once(server, 'listening');

/** Bodies of the largest size take too long where each block is counted. */
const isCounting = process.argv.includes('--count');
if (!isCounting) endCounting();
let counted = isCounting ? countWork() : undefined;
// Answers with the work since the last message, and begins to count anew.
process.on('message', () => {
  counted?.stop();
  const work = counted?.done() ?? { steps: 0, passed: 0, allocated: 0 };
  counted = isCounting ? countWork() : undefined;
  process.send?.({ work, inflated });
  inflated = 0;
});
// The cast: a server that listens on TCP has an address.
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
