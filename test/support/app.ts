/** A real Express app with one router on a free port, for tests that speak HTTP. */
import { createServer, type Server } from 'node:http';
import express, { type RequestHandler } from 'express';
import {
  chatCompletionsUpstream,
  type DrainableRouter,
  memoryStore,
  type RouterOptions,
  responsesRouter,
} from '../../src/index.ts';
import { listening } from './listening.ts';

/** What the app is made of. */
export interface AppSetup {
  /** The model server, such as a fake one; called through `chatCompletionsUpstream`. */
  readonly upstream?: { readonly baseURL: string };
  /** The router's options, over a memory store of its own and `upstream`. */
  readonly options?: RouterOptions;
  /** Where the router is mounted; `/v1` by default. */
  readonly mount?: string;
  /** Routers before it, at the same place. */
  readonly others?: readonly RequestHandler[];
}

/** A running app. */
export interface App {
  /** Origin and mount path: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  readonly router: DrainableRouter;
  readonly server: Server;
  /** Destroys every connection and stops. */
  close(): Promise<void>;
}

/** Starts an app on a free port of 127.0.0.1. */
export async function startApp({ upstream, options, mount = '/v1', others = [] }: AppSetup = {}): Promise<App> {
  const requested = upstream && chatCompletionsUpstream({ baseURL: upstream.baseURL, apiKey: 'upstream-key' });
  const router = responsesRouter({ store: memoryStore(), upstream: requested, ...options });
  const server = createServer(express().use(mount, ...others, router));
  // A busy machine may leave a connection idle for longer than the default of 5 s just when the next request goes out on it.
  server.keepAliveTimeout = 0;
  const { url, close } = await listening(server);
  const stop = async () => void (await Promise.all([close(), requested?.close?.()]));
  return { url: `${url}${mount}`, router, server, close: stop };
}
