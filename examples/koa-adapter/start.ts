/** Puts the Koa example together and starts it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chatCompletionsUpstream, memoryStore } from 'express-open-responses/core';
import { startDemoModel } from 'express-open-responses/testing';
import { type Environment, readSettings } from '../express/settings.ts';
import { createApp } from './app.ts';

/** How long running responses have to finish when the example is stopped, in milliseconds. */
const DRAIN_MS = 10_000;
/** How long the last connections may stay open after that, in milliseconds. */
const LINGER_MS = 1000;

/** A running example. */
export interface RunningExample {
  /** Such as `http://localhost:3000`; the API is at `/v1`. */
  readonly url: string;
  /** Lets running responses finish, then stops. */
  close(): Promise<void>;
}

/** Starts the example; `say` is told where it listens. It reads `PORT`, `UPSTREAM_BASE_URL` and `UPSTREAM_API_KEY`. */
export async function start(env: Environment, say: (line: string) => void = console.log): Promise<RunningExample> {
  const { port, upstreamBaseURL, upstreamApiKey } = readSettings(env);
  const demo = upstreamBaseURL === undefined ? await startDemoModel() : undefined;
  const upstream = chatCompletionsUpstream({ baseURL: upstreamBaseURL ?? demo?.baseURL, apiKey: upstreamApiKey });
  const { app, drain } = createApp({ upstream, store: memoryStore() });
  const server = createServer(app.callback()).listen(port);
  await once(server, 'listening');
  // The cast: a server that listens on TCP has an address, and it is no pipe's name.
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  say(`The Responses API is at ${url}/v1`);

  async function close(): Promise<void> {
    await drain({ server, timeoutMs: DRAIN_MS });
    const closed = once(server, 'close');
    server.close();
    setTimeout(() => server.closeAllConnections(), LINGER_MS).unref();
    await Promise.all([closed, upstream.close?.(), demo?.close()]);
  }

  return { url, close };
}
