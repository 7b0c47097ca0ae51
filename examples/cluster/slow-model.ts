/** The demo model, but so slow that there is time to kill the worker that reads its answer. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type DemoModel, startDemoModel } from 'express-open-responses/testing';

/** The pause between two words of a stream, in milliseconds. */
const PACE_MS = 30;

/** Starts it on a free port of the loopback address. */
export async function startSlowModel(): Promise<DemoModel> {
  const demo = await startDemoModel();
  const server = createServer((request, response) => {
    answer(demo.baseURL, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function close(): Promise<void> {
    server.closeAllConnections();
    server.close();
    await demo.close();
  }

  // The cast: a server that listens on TCP has an address, and not the name of a pipe.
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close };
}

async function answer(baseURL: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '' } = request;
  const body = method === 'POST' ? await text(request) : null;
  const headers = { 'content-type': 'application/json' };
  const whole = await fetch(new URL(url, baseURL), { method, headers, body });
  response.writeHead(whole.status, { 'content-type': whole.headers.get('content-type') ?? 'text/plain' });
  for (const frame of (await whole.text()).split(/(?<=\n\n)/)) {
    if (response.destroyed) return;
    response.write(frame);
    await pause(PACE_MS);
  }
  response.end();
}
