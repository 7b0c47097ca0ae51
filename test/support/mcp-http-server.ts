/** The test tools over streamable HTTP and SSE, in this process, on a free port, with every request and socket on record. */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { type ServerEvents, toolServer } from './mcp-tool-set.mjs';

/** One request as it was received. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** How the server behaves. */
export interface McpHttpOptions {
  /** Keeps events, so that clients may resume broken streams. */
  readonly resumable?: boolean;
  /** Answers with JSON instead of event streams. */
  readonly json?: boolean;
  /** The port to take; a free one by default. */
  readonly port?: number;
  /** The certificate to speak TLS with. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** A running server. */
export interface McpHttpServer {
  readonly url: string;
  readonly sseUrl: string;
  readonly port: number;
  /** `call:<tool>`, `cancelled:<tool>`, `list`, `request`, `socket-closed`. */
  readonly events: ServerEvents;
  readonly requests: readonly SeenRequest[];
  readonly sessions: ReadonlyMap<string, Transport>;
  /** How many sockets are open, and how many were at most. */
  readonly sockets: { readonly open: number; readonly most: number };
  /** If set, every request is answered with this status and body. */
  refuseWith: { readonly status: number; readonly body: string } | undefined;
  /** Never answers these requests. */
  ignoreWhere: (request: SeenRequest) => boolean;
  /** Answers these requests with the status of a refusal, and with the challenge if there is one. */
  refuseWhere: (request: SeenRequest) => boolean;
  /** 401 by default. */
  refusal: number;
  challenge: string | undefined;
  /** Drops all sessions, as after a restart. */
  forgetSessions(): void;
  /** Cuts every socket, as a broken network does. */
  cut(): void;
  /** Resolves when no socket is open. */
  allSocketsClosed(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the server. */
export async function startMcpServer(options: McpHttpOptions = {}): Promise<McpHttpServer> {
  const events: ServerEvents = new EventEmitter();
  const requests: SeenRequest[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport | SSEServerTransport>();
  const open = new Set<Socket>();
  let most = 0;

  async function openSession(): Promise<StreamableHTTPServerTransport> {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: options.json ?? false,
      ...(options.resumable ? { eventStore: eventStore() } : {}),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await toolServer(events, cut).connect(transport as Transport);
    return transport;
  }

  async function streamable(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : await openSession();
    if (known instanceof StreamableHTTPServerTransport) return known.handleRequest(request, response);
    response.writeHead(404).end('No such session.');
  }

  async function sse(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/sse', response);
      sessions.set(transport.sessionId, transport);
      response.once('close', () => sessions.delete(transport.sessionId));
      return toolServer(events, cut).connect(transport);
    }
    const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId');
    const transport = sessions.get(String(id));
    if (transport instanceof SSEServerTransport) return transport.handlePostMessage(request, response);
    response.writeHead(404).end('No such session.');
  }

  function cut(): void {
    for (const socket of open) socket.destroy();
  }

  const listener: RequestListener = (request, response) => {
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers });
    events.emit('request', method);
    if (result.ignoreWhere({ method, url, headers })) return;
    if (result.refuseWhere({ method, url, headers }))
      return void response
        .writeHead(result.refusal, result.challenge ? { 'www-authenticate': result.challenge } : {})
        .end();
    if (result.refuseWith) return void response.writeHead(result.refuseWith.status).end(result.refuseWith.body);
    void (url.startsWith('/sse') ? sse(request, response) : streamable(request, response));
  };
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
  // Sockets that a client forgets to close stay open for as long as a test runs.
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    open.add(socket);
    most = Math.max(most, open.size);
    socket.once('close', () => {
      open.delete(socket);
      events.emit('socket-closed');
    });
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const result: McpHttpServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    sseUrl: `http://127.0.0.1:${port}/sse`,
    port,
    events,
    requests,
    sessions: sessions as ReadonlyMap<string, Transport>,
    sockets: {
      get open() {
        return open.size;
      },
      get most() {
        return most;
      },
    },
    refuseWith: undefined,
    ignoreWhere: () => false,
    refuseWhere: () => false,
    refusal: 401,
    challenge: undefined,
    forgetSessions: () => sessions.clear(),
    cut,
    async allSocketsClosed() {
      while (open.size > 0) await once(events, 'socket-closed');
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
  return result;
}

/** Keeps the events of all streams in order, as a server that supports resuming does. */
function eventStore() {
  const events: { readonly id: string; readonly streamId: string; readonly message: JSONRPCMessage }[] = [];
  return {
    async storeEvent(streamId: string, message: JSONRPCMessage) {
      const id = `${events.length}`;
      events.push({ id, streamId, message });
      return id;
    },
    async replayEventsAfter(
      lastId: string,
      { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
    ): Promise<string> {
      const last = events[Number(lastId)];
      for (const event of events.slice(Number(lastId) + 1)) {
        if (event.streamId === last?.streamId) await send(event.id, event.message);
      }
      return last?.streamId ?? '';
    },
  };
}
