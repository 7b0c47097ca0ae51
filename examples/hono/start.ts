/** Puts the Hono example together and starts it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { chatCompletionsUpstream, memoryStore, openResponses } from 'express-open-responses/core';
import { startDemoModel } from 'express-open-responses/testing';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { createApp } from './app.ts';

/** How long running responses have to finish when the example is stopped, in milliseconds. */
const DRAIN_MS = 10_000;

/** The environment, as `process.env` has it. */
type Environment = Readonly<Record<string, string | undefined>>;

/** A running example. */
export interface RunningExample {
  /** Such as `http://localhost:3000`; the API is at `/v1`. */
  readonly url: string;
  /** Lets running responses finish, then stops. */
  close(): Promise<void>;
}

/** Starts the example; `say` receives a line with its address. It reads `PORT`, `UPSTREAM_BASE_URL` and `UPSTREAM_API_KEY`. */
export async function start(env: Environment, say: (line: string) => void = console.log): Promise<RunningExample> {
  const demo = env.UPSTREAM_BASE_URL ? undefined : await startDemoModel();
  const baseURL = demo?.baseURL ?? env.UPSTREAM_BASE_URL;
  const upstream = chatCompletionsUpstream({ baseURL, apiKey: env.UPSTREAM_API_KEY ?? '' });
  const api = openResponses({ upstream, store: memoryStore(), basePath: '/v1' });
  const server = createServer(getRequestListener(createApp(api).fetch));
  attachResponsesWebSocket(server, api);
  server.listen(Number(env.PORT || 3000));
  await once(server, 'listening');
  // The cast: a server that listens on TCP has an address, and not the name of a pipe.
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  say(`The Responses API is at ${url}/v1`);

  async function close(): Promise<void> {
    await api.close({ server, timeoutMs: DRAIN_MS });
    await demo?.close();
  }

  return { url, close };
}
