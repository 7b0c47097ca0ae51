/** Attaches the WebSocket to a server, and detaches it when it shuts down. */

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { DrainOptions } from '../../engine/request/activity.ts';
import { MemoryBudget } from '../../ports/queues/room.ts';
import { ApiError } from '../../protocol/errors.ts';
import { announcer } from '../../server/announce.ts';
import { type RouterStatus, statusReader } from '../../server/status.ts';
import { upgradeRefusal } from './answer.ts';
import { type Connection, serveConnection } from './connection.ts';
import {
  checkServer,
  type ServedByWebSocket,
  type UpgradeListener,
  type UpgradeServer,
  type WebSocketOptions,
  webSocketSettings,
} from './options.ts';
import { admit, writeReply } from './upgrade.ts';
import { WebSocketServer } from './ws.ts';

/** How long clients have to confirm the close, in milliseconds. */
const GRACE_MS = 1000;

/** What works of a WebSocket, as plain JSON. */
export interface WebSocketStatus extends RouterStatus {
  /** How many connections are open. */
  readonly connections: number;
}

/** A WebSocket that can be shut down. */
export interface AttachedWebSocket {
  /** Refuses new connections and requests, lets running responses end, then closes everything; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
  /** The same without waiting: running responses fail. Resolves when every connection is closed. */
  close(): Promise<void>;
  /** What works, for the host's own health route: plain JSON within a second or so, as of a router. It never rejects. */
  status(): Promise<WebSocketStatus>;
}

/** The path of each listener, so that several on one server recognise each other. */
const listenerPaths = new WeakMap<object, string>();

/**
 * Serves `response.create` messages on the server's upgrade requests to `path`; ignores all other paths. With what `openResponses`
 * returned, its responses share the places, tools and tenants of all APIs, and it ends with them; with options it stands alone. Throws
 * a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { openResponses } from 'express-open-responses';
 * import { attachResponsesWebSocket } from 'express-open-responses/websocket';
 *
 * const api = openResponses();
 * const server = express().use('/v1', api.router).listen(3000);
 * attachResponsesWebSocket(server, api);
 * process.once('SIGTERM', () => void api.close({ server }));
 * ```
 */
export function attachResponsesWebSocket(
  server: UpgradeServer,
  api: ServedByWebSocket = {},
  options: WebSocketOptions = {},
): AttachedWebSocket {
  checkServer(server);
  const settings = webSocketSettings(api, options);
  const { core, apis, path, pingMs } = settings;
  const { turns } = core;
  const shared = { turns, room: new MemoryBudget(settings.memoryBytes) };
  const connections = new Set<Connection>();
  /** Sockets of clients that the host has not yet accepted or refused. */
  const waiting = new Set<Duplex>();
  const acceptor = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    // ws would treat a larger number as none.
    maxPayload: Math.min(core.limits.bodyBytes, 2 ** 31 - 1),
  });
  const announce = announcer(core, options.authorize);
  let draining = false;

  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const refuse = async (error: ApiError) => writeReply(socket, await upgradeRefusal(error, request, core));
    const [requestPath = ''] = (request.url ?? '').split('?', 1);
    if (requestPath !== path)
      return isUnclaimed(requestPath, server, onUpgrade)
        ? refuse(new ApiError('not_found', `Invalid URL (GET ${requestPath})`))
        : undefined;
    // Until ws takes over there is no other listener, and a client that leaves would end the process.
    socket.on('error', ignoreSocketError);
    waiting.add(socket);
    const admitted = draining ? drainingError() : await admit(request, settings);
    waiting.delete(socket);
    if (admitted instanceof ApiError) return refuse(admitted);
    if (draining) return refuse(drainingError());
    acceptor.handleUpgrade(request, socket, head, (accepted) => {
      socket.off('error', ignoreSocketError);
      announce();
      const connection = serveConnection(accepted, { request, scope: admitted, wire: socket }, settings, shared);
      connections.add(connection);
      connection.closed.then(() => connections.delete(connection));
    });
  };

  /** Nobody awaits a listener, so an error here, such as one of the host's functions, destroys only this socket. */
  const onUpgrade: UpgradeListener = (request, socket, head) =>
    upgrade(request, socket, head).catch((error: unknown) => {
      core.recorder.onHostError(error);
      socket.on('error', ignoreSocketError).destroy();
    });

  const pings = setInterval(() => {
    for (const connection of connections) connection.sendPing();
  }, pingMs).unref();

  async function drain(drainOptions?: DrainOptions): Promise<void> {
    draining = true;
    for (const connection of connections) connection.retire();
    await turns.drain(drainOptions);
    const cut = setTimeout(() => {
      for (const connection of connections) connection.terminate();
    }, GRACE_MS);
    await Promise.all([...connections].map(({ closed }) => closed));
    clearTimeout(cut);
    for (const socket of waiting) socket.destroy();
    clearInterval(pings);
    server.off('upgrade', onUpgrade);
    detach?.();
  }

  listenerPaths.set(onUpgrade, path);
  server.on('upgrade', onUpgrade);
  const detach = apis?.attach({ drain });
  const running = () => ({ inFlight: turns.running, background: 0, waiting: turns.waiting });
  const readStatus = statusReader(core, running);
  return {
    drain,
    close: () => drain({ timeoutMs: 0 }),
    status: async () => ({ ...(await readStatus()), connections: connections.size }),
  };
}

/** Whether no other listener can answer: Node then leaves the socket open for ever. Our first listener answers for all. */
function isUnclaimed(path: string, server: UpgradeServer, listener: UpgradeListener): boolean {
  // The cast: listeners are functions.
  const listeners = server.listeners('upgrade') as readonly object[];
  return (
    listeners[0] === listener &&
    listeners.every((other) => listenerPaths.has(other) && listenerPaths.get(other) !== path)
  );
}

/** The same error as the core's. */
function drainingError(): ApiError {
  return new ApiError('server_draining', 'This server is shutting down; try again.');
}

/** The socket is gone, so there is nobody to answer. */
function ignoreSocketError(): void {}
