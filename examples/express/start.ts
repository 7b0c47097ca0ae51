/** Puts the example together and starts it. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chatCompletionsUpstream, type Hooks, openResponses } from 'express-open-responses';
import { createInspector } from 'express-open-responses/inspector';
import { startDemoModel } from 'express-open-responses/testing';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { type Logger, pino } from 'pino';
import { createApp } from './app.ts';
import { openCode } from './code.ts';
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
  const { apis, tools: fileTools, files, remove } = await openFiles(settings.embeddings);
  const code = openCode(settings.runsCode, files);
  const inspector = createInspector({ playground: true, containers: code.containers });
  const api = openResponses({
    upstream,
    tools: [mcp, ...fileTools, ...code.tools, ...startSearch(settings.searxngURL, demo !== undefined)],
    store,
    apis: [...apis, ...code.apis],
    inspector,
    heartbeat: { intervalMs: settings.heartbeatMs },
    hooks: logging(log),
  });
  const { apiKeys } = settings;
  const server = createServer(createApp({ api, inspector, apiKeys, log }));
  server.keepAliveTimeout = IDLE_CONNECTION_MS;
  const isAllowed = keyCheck(apiKeys);
  attachResponsesWebSocket(server, api, {
    authorize: (request) => isAllowed(request) || { status: 401, message: refusal.message },
  });

  async function close(): Promise<void> {
    await api.close({ server, timeoutMs: DRAIN_MS });
    await Promise.all([demo?.close(), closeStore(), code.close(), remove()]);
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

/** The reports of all APIs, in the app's own log. */
function logging(log: Logger): Hooks {
  return {
    onResponse: (info) => log.info(info, 'response ended'),
    onToolCall: (info) => log.info(info, 'tool called'),
    onError: (err, { requestId }) => log.warn({ err, requestId }, 'error answered'),
    onNote: (note, { requestId }) => log.info({ note, requestId }, 'left out of the request'),
  };
}

function portOf(server: Server): number {
  // The cast: a server that listens on TCP has an address, and not the name of a pipe.
  return (server.address() as AddressInfo).port;
}
