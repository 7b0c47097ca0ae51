/** MCP servers of the 2026-07-28 protocol: over HTTP in this process, with every request on record, and over stdio. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { McpServerConfig } from '../../src/tools/mcp/index.ts';
import { closeLater } from './mcp-client.ts';
import type { SeenRequest } from './mcp-http-server.ts';
import { modernServer } from './mcp-modern-tools.mjs';
import type { ServerEvents } from './mcp-tool-set.mjs';

/** A running server. */
export interface ModernServer {
  readonly url: string;
  readonly events: ServerEvents;
  readonly requests: readonly SeenRequest[];
  /** How many streams of changes are open. */
  readonly streams: number;
  /** If set, every request is answered with this status. */
  refuseWith: { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | undefined;
  /** Adds a tool, and notifies the listening clients. */
  addTool(name: string): void;
  /** Cuts every socket. */
  cut(): void;
}

/** Starts a server of the modern protocol era only, or of both. */
export async function startModern({ both = false } = {}): Promise<ModernServer> {
  const events: ServerEvents = new EventEmitter();
  const extra = new Map<string, string>();
  const requests: SeenRequest[] = [];
  const listeners = new Set<ServerResponse>();
  const handler = createMcpHandler(() => modernServer(events, extra), { legacy: both ? 'stateless' : 'reject' });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers });
    if (server.refuseWith) return void response.writeHead(server.refuseWith.status, server.refuseWith.headers).end();
    const leaving = new AbortController();
    response.on('close', () => leaving.abort());
    const answered = await handler.fetch(await webRequest(request, leaving.signal));
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    if (headers['mcp-method'] === 'subscriptions/listen') hold(listeners, response);
    if (!answered.body) return void response.end();
    // The cast: Node's own type of the same streams.
    Readable.fromWeb(answered.body as ReadableStream)
      .on('error', () => {})
      .pipe(response);
  }

  const http = createServer((request, response) => void answer(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  events.on('crash', () => http.closeAllConnections());
  closeLater(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
    await handler.close();
  });
  const server: ModernServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    events,
    requests,
    get streams() {
      return listeners.size;
    },
    refuseWith: undefined,
    addTool(name) {
      extra.set(name, `this is ${name}`);
      handler.notify.toolsChanged();
    },
    cut: () => http.closeAllConnections(),
  };
  return server;
}

function hold(listeners: Set<ServerResponse>, response: ServerResponse): void {
  listeners.add(response);
  response.on('close', () => listeners.delete(response));
}

async function webRequest(request: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const body = Buffer.concat(await request.toArray());
  // The cast: HTTP headers that Node has parsed.
  const headers = new Headers(request.headers as Record<string, string>);
  const { method = 'GET', url } = request;
  return new Request(`http://127.0.0.1${url}`, { method, headers, signal, ...(body.length > 0 ? { body } : {}) });
}

/** The modern test tools as a child process. */
export function modernStdio(...args: readonly string[]): McpServerConfig {
  const script = new URL('mcp-modern-stdio.mjs', import.meta.url).pathname;
  return { command: process.execPath, args: [script, ...args] };
}
