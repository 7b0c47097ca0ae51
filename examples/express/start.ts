/** Puts the example together and starts it. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  type Hooks,
  messagesRouter,
  responsesRouter,
} from 'express-open-responses';
import { createInspector } from 'express-open-responses/inspector';
import { startDemoModel } from 'express-open-responses/testing';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { type Logger, pino } from 'pino';
import { createApp } from './app.ts';
import { openFiles } from './files.ts';
import { startTools } from './mcp.ts';
import { keyCheck, refusal } from './require-api-key.ts';
import { startSearch } from './search.ts';
import { type Environment, readSettings } from './settings.ts';
import { openStore } from './store.ts';

/** Node closes idle connections after 5 s, perhaps just when a proxy or a busy client sends the next request on one. */
const IDLE_CONNECTION_MS = 75_000;
/** How long running responses have to finish when the example is stopped, in milliseconds. */
const DRAIN_MS = 10_000;
/** How long the last connections may stay open after that, in milliseconds. */
const LINGER_MS = 1000;

/** A running example. */
export interface Example {
  /** Such as `http://localhost:3000`; the API is at `/v1`. */
  readonly url: string;
  /** The model server that answers; `baseURL` includes `/v1`. */
  readonly modelServer: { readonly baseURL: string; readonly apiKey: string };
  /** Whether clients must send one of `API_KEYS`. */
  readonly needsKey: boolean;
  /** Lets running responses finish, then stops. */
  close(): Promise<void>;
}

/** Starts the example; `say` receives lines about what it uses and where it listens. Throws for a bad setting. */
export async function start(env: Environment, say: (line: string) => void = console.log): Promise<Example> {
  const settings = readSettings(env);
  const log = pino({ level: settings.log ? 'info' : 'silent' });
  const { store, close: closeStore } = await openStore(settings.store, (err) => log.error({ err }, 'store lost'));
  const demo = settings.upstreamBaseURL === undefined ? await startDemoModel() : undefined;
  if (demo) say(`No UPSTREAM_BASE_URL: using the embedded demo model at ${demo.baseURL}`);

  const modelServer = {
    baseURL: settings.upstreamBaseURL ?? demo?.baseURL ?? '',
    apiKey: settings.upstreamApiKey,
  };
  const upstream = chatCompletionsUpstream(modelServer);
  const mcp = startTools(settings.mcpConfig, demo !== undefined, say);
  const { files, routers, tools: fileTools, close: closeFiles } = await openFiles(settings.embeddings);
  const tools = [mcp, ...fileTools, ...startSearch(settings.searxngURL, demo !== undefined)];
  const inspector = createInspector({ playground: true });
  const options = inspector.observe({
    upstream,
    tools,
    store,
    files,
    heartbeat: { intervalMs: settings.heartbeatMs },
    hooks: logging(log),
  });
  const responses = responsesRouter(options);
  const chatCompletions = chatCompletionsRouter(options);
  const messages = messagesRouter(options);
  const { apiKeys } = settings;
  const server = createServer(
    createApp({ responses, chatCompletions, messages, files: routers, inspector, apiKeys, log }),
  );
  server.keepAliveTimeout = IDLE_CONNECTION_MS;
  const isAllowed = keyCheck(apiKeys);
  const webSocket = attachResponsesWebSocket(server, {
    ...options,
    authorize: (request) => (isAllowed(request) ? undefined : { status: 401, message: refusal.message }),
  });

  async function close(): Promise<void> {
    inspector.close();
    const serving = [responses, chatCompletions, messages, webSocket];
    await Promise.all(serving.map((each) => each.drain({ server, timeoutMs: DRAIN_MS })));
    await closed(server);
    await Promise.all([upstream.close?.(), ...tools.map((each) => each.close?.()), demo?.close(), closeStore()]);
    await closeFiles();
  }

  try {
    server.listen(settings.port);
    await once(server, 'listening');
  } catch (error) {
    await close();
    throw error;
  }
  const url = `http://localhost:${portOf(server)}`;
  say(`The Responses API is at ${url}/v1`);
  say(`The inspector, for this machine only, is at ${url}/inspect`);
  return { url, modelServer, needsKey: apiKeys.length > 0, close };
}

/** The router's reports, in the app's own log. */
function logging(log: Logger): Hooks {
  return {
    onResponse: (info) => log.info(info, 'response ended'),
    onToolCall: (info) => log.info(info, 'tool called'),
    onError: (err, { requestId }) => log.warn({ err, requestId }, 'error answered'),
    onNote: (note, { requestId }) => log.info({ note, requestId }, 'left out of the request'),
  };
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return;
  const ended = once(server, 'close');
  server.close();
  // A browser opens connections on which it never sends a request.
  setTimeout(() => server.closeAllConnections(), LINGER_MS).unref();
  await ended;
}

function portOf(server: Server): number {
  // The cast: a server that listens on TCP has an address, and not the name of a pipe.
  return (server.address() as AddressInfo).port;
}
