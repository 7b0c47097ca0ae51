/** Clients that read nothing: the model server is held back by its own socket, and memory stays bounded. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { chatChunk } from '../../src/testing/index.ts';
import { type MemoryProcess, startMemoryProcess } from '../support/memory-process.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { unreadClient } from '../support/unread-client.ts';

const CLIENTS = 30;
const MIB = 1024 * 1024;
const PIECE = chatChunk({ content: 'x'.repeat(16 * 1024) }).repeat(4);

/** A model server that writes for as long as its socket takes more. */
async function startEndlessServer() {
  const sockets = new Set<Socket>();
  const server = createServer((requested, answer) => {
    sockets.add(requested.socket.once('close', () => sockets.delete(requested.socket)));
    const more = () => {
      while (!answer.destroyed && answer.write(PIECE));
    };
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).on('drain', more);
    more();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, sockets, sent: () => [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0) };
}

let upstream: Awaited<ReturnType<typeof startEndlessServer>>;
let app: MemoryProcess;

beforeAll(async () => {
  upstream = await startEndlessServer();
  app = await startMemoryProcess(`http://127.0.0.1:${portOf(upstream.server)}/v1`);
});

afterAll(async () => {
  await app.stop();
  upstream.server.closeAllConnections();
  upstream.server.close();
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** What the model server has sent once it has sent nothing more for half a second; undefined where it never stops. */
async function sentInAll(): Promise<number | undefined> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let quiet = 0, last = -1; performance.now() < deadline; ) {
    await pause(50);
    quiet = upstream.sent() === last && upstream.sockets.size > 0 ? quiet + 1 : 0;
    last = upstream.sent();
    if (quiet === 10) return last;
  }
  return undefined;
}

describe('30 clients that read nothing', () => {
  it('[P-10] stop the flow of an endless upstream, keep memory bounded, and can read on later', async () => {
    const before = await app.report();
    const clients = Array.from({ length: CLIENTS }, () => unreadClient(app.url));
    while (upstream.sockets.size < CLIENTS) await pause(20);
    const sent = await sentInAll();
    const after = await app.report();
    const streams = upstream.sockets.size;

    clients[0]?.resume();
    while (upstream.sent() < (sent ?? 0) + 10 * MIB) await pause(20);
    for (const client of clients) client.destroy();
    while (upstream.sockets.size > 0) await pause(20);

    // What the sockets of both sides hold is the kernel's to choose: some megabytes for each.
    expect([streams, (sent ?? Number.POSITIVE_INFINITY) / CLIENTS < 16 * MIB]).toEqual([CLIENTS, true]);
    // Held for each: what the model has written so far. How much garbage V8 keeps besides is its own choice.
    const perClient = (bytes: (report: typeof after) => number) => (bytes(after) - bytes(before)) / CLIENTS / MIB;
    expect(perClient(({ heap }) => heap)).toBeLessThan(8);
    expect(perClient(({ rss }) => rss)).toBeLessThan(16);
  }, 120_000);
});
