/** An app alone in its process, so that its memory and its leaks can be measured; run by `memory-process.ts`. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { queryObjects } from 'node:v8';
import { memoryStore } from '../../src/index.ts';
import { startApp } from './app.ts';
import type { MemoryReport } from './memory-process.ts';

const warnings: string[] = [];
const rejections: string[] = [];
process.on('warning', ({ name, message }) => void warnings.push(`${name}: ${message}`));
process.on('unhandledRejection', (reason) => void rejections.push(String(reason)));

const timer = setTimeout(() => {}, 0);
// The cast: every object has a constructor; this one's is not exported.
const Timeout = timer.constructor as new () => unknown;

const app = await startApp({
  upstream: { baseURL: process.env.UPSTREAM_URL ?? '' },
  options: { store: memoryStore({ maxResponses: 100 }), limits: { model: { outputBytes: Number.POSITIVE_INFINITY } } },
});

process.on('message', () => process.send?.(report()));
process.send?.(app.url);

function report(): MemoryReport {
  // Only the next collection frees what a finalizer releases.
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    rss,
    heap: heapUsed + external,
    alive: {
      timers: queryObjects(Timeout, { format: 'count' }),
      signals: queryObjects(AbortSignal, { format: 'count' }),
      sockets: queryObjects(Socket, { format: 'count' }),
      requests: queryObjects(IncomingMessage, { format: 'count' }),
      responses: queryObjects(ServerResponse, { format: 'count' }),
    },
    warnings,
    rejections,
  };
}
