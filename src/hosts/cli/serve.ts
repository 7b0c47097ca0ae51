/** Puts the server of the command line together, and takes it down. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { createInspector } from '../../observe/inspector/create-inspector.ts';
import { isLoopback } from '../../observe/inspector/server/access.ts';
import type { Logger } from '../../ports/host/logger.ts';
import { closeServer } from '../../server/close-parts.ts';
import { openApis } from '../../server/open-apis.ts';
import type { Arguments } from './arguments.ts';
import { Failure, printableMessage } from './failure.ts';
import { listener } from './listener.ts';
import { type ListedModel, openModel } from './open-model.ts';
import { openStore } from './open-store.ts';
import { openTools, toolsSummary } from './open-tools.ts';
import { readyLines } from './report.ts';

/** A server that listens. */
interface RunningServer {
  /** The lines to print. */
  readonly lines: readonly string[];
  /** Such as `http://127.0.0.1:3000`. */
  readonly origin: string;
  readonly models: readonly ListedModel[];
  /** Lets running responses finish, then stops. */
  close(): Promise<void>;
}

/** Node closes idle connections after 5 s, perhaps just when a proxy or a busy client sends the next request on one. */
const IDLE_CONNECTION_MS = 75_000;
/** How long running responses have to finish, in milliseconds. */
const DRAIN_MS = 10_000;

/** Starts everything; throws a `Failure` where something cannot be used, and then leaves nothing open. */
export async function serve(args: Arguments, warn: (line: string) => void, logger?: Logger): Promise<RunningServer> {
  const opened: (() => unknown)[] = [];
  const closeAll = async () => void (await Promise.allSettled(opened.map((close) => close())));
  try {
    return await startParts(args, { warn, logger }, opened, closeAll);
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Where lines go: those of the start, and those of requests; by default the latter are process warnings. */
interface Reporting {
  readonly warn: (line: string) => void;
  readonly logger: Logger | undefined;
}

async function startParts(
  args: Arguments,
  { warn, logger }: Reporting,
  opened: (() => unknown)[],
  closeAll: () => Promise<void>,
): Promise<RunningServer> {
  const server = createServer();
  // Listens first: a port in use is found immediately, while MCP servers take long to start.
  const origin = await listening(server, args);
  opened.push(() => closeServer(server));
  const { store, close: closeStore } = await openStore(args.store, warn);
  opened.push(closeStore);
  const model = await openModel(args, warn);
  opened.push(model.close);
  const tools = await openTools(args.mcp, warn);
  opened.push(() => Promise.all(tools.map((each) => each.close())));

  const inspector = args.inspect ? createInspector({ playground: true }) : undefined;
  const api = openApis(
    'express-open-responses',
    { upstream: model.upstream, store, tools, inspector, logger },
    undefined,
  );
  const isLocal = isLoopback(listenAddress(server).address);
  if (!isLocal) warn(`everyone who reaches ${args.host} may use the model server through this one.`);
  server.removeAllListeners('request').on('request', listener({ api, inspector: inspector?.router, isLocal }));

  async function close(): Promise<void> {
    await api.close({ server, timeoutMs: DRAIN_MS });
    await closeAll();
  }

  const { name: modelServer, models } = model;
  const facts = { origin, modelServer, models: models.map(({ id }) => id), store: store.name ?? 'its own' };
  const summary = tools.length > 0 ? toolsSummary(tools) : undefined;
  return { lines: readyLines({ ...facts, tools: summary, inspect: args.inspect }), origin, models, close };
}

/** Listens, and answers 503 until the APIs are ready; resolves with the origin to print. */
async function listening(server: Server, { host, port }: Arguments): Promise<string> {
  server.keepAliveTimeout = IDLE_CONNECTION_MS;
  server.on('request', (_req, res) => res.writeHead(503, { 'retry-after': '1' }).end());
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const { code } = Object(error);
    let reason = `cannot listen on --host ${host}: ${printableMessage(error)}`;
    if (code === 'EADDRINUSE')
      reason = `port ${port} of ${host} is in use: choose another with --port, 0 for a free one`;
    else if (code === 'EACCES') reason = `port ${port} may not be used by this user: choose one from 1024 with --port`;
    throw new Failure(reason, 1, error);
  }
  const { address, port: chosen } = listenAddress(server);
  const reached = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
  return `http://${isIPv6(reached) ? `[${reached}]` : reached}:${chosen}`;
}

function listenAddress(server: Server): AddressInfo {
  // The cast: a server that listens on TCP has an address, and not the name of a pipe.
  return server.address() as AddressInfo;
}
