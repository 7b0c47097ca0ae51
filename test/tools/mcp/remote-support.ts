/** Remote MCP servers over TLS on loopback, under names that a resolver of the test knows, and `remoteMcp` before them. */

import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { RemoteServer, RemoteServers } from '../../../src/ports/remote-servers.ts';
import type { ToolProvider } from '../../../src/ports/tool-provider.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type RemoteMcpOptions, remoteMcp } from '../../../src/tools/mcp/index.ts';
import { closeLater, never, startServer } from '../../support/mcp-client.ts';
import type { McpHttpOptions, McpHttpServer } from '../../support/mcp-http-server.ts';
import { describeWhere } from '../../support/skipping.ts';
import { certificateFor, type Site, startSite } from '../egress/site.ts';

/** What all servers of these tests are called. */
export const HOST = 'tools.example';

const certificate = certificateFor([`DNS:${HOST}`]);

/** As `describe`, but skipped where there is no `openssl` to make a certificate. */
export const describeRemote = describeWhere(certificate !== undefined, 'no openssl to make a certificate');

/** The test server, over TLS. */
export function startRemote(options: McpHttpOptions = {}): Promise<McpHttpServer> {
  return startServer({ ...options, ...(certificate ? { tls: certificate } : {}) });
}

/** Any server, over TLS. */
export async function startTlsSite(answer: RequestListener): Promise<Site> {
  const site = await startSite(answer, certificate);
  closeLater(site.close);
  return site;
}

/** A server over streamable HTTP that answers each method as given; `undefined` sends nothing. */
export function startScripted(answer: (method: string, params: JsonObject) => unknown): Promise<Site> {
  return startTlsSite(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await bodyOf(request));
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'server/discover') return void response.writeHead(400).end('It begins with initialize.');
    const result = method === 'initialize' ? introduction(params) : answer(method, params ?? {});
    if (result === undefined) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
}

function introduction({ protocolVersion }: JsonObject): JsonObject {
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '1' } };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8');
  return (await request.toArray()).join('');
}

/** What a site was asked, in order of the first time: the probe and `initialize` ask the same. */
export function askedOf({ requests }: Site): readonly string[] {
  return [...new Set(requests.map(({ method, url }) => `${method} ${url}`))];
}

/** A server of that name as a request gives it. */
export function named(
  { port }: { readonly port: number },
  parts: Partial<RemoteServer> & { readonly path?: string } = {},
) {
  const { path = '/mcp', ...given } = parts;
  return { label: 'docs', url: `https://${HOST}:${port}${path}`, headers: {}, param: 'tools[2]', ...given };
}

/** `remoteMcp` that may go to these servers alone. */
export function remoteFor(
  servers: readonly { readonly port: number }[],
  options: RemoteMcpOptions = {},
): RemoteServers {
  const remote = remoteMcp({
    egress: { allow: [{ host: HOST }], ports: [443, ...servers.map(({ port }) => port)] },
    egressResources: { resolve: async () => ['127.0.0.1'], ca: certificate?.cert },
    ...options,
  });
  closeLater(remote.close);
  return remote;
}

/** What `remoteFor` lets out, with more of the policy. */
export function egressTo({ port }: { readonly port: number }, policy: RemoteMcpOptions['egress']): RemoteMcpOptions {
  return { egress: { allow: [{ host: HOST }], ports: [port], ...policy } };
}

/** Names have these addresses. */
export function resolving(addresses: readonly string[]): RemoteMcpOptions {
  return { egressResources: { resolve: async () => addresses, ca: certificate?.cert } };
}

/** Calls a tool of a provider. */
export function callOf(provider: ToolProvider, name: string, args: JsonObject = {}, signal = never()) {
  const call = { server: 'docs', name, arguments: args, scope: 'a', requestId: 'req', request: undefined };
  return provider.call(call, signal);
}

/** The names of a provider's tools. */
export async function namesOf(provider: ToolProvider): Promise<readonly string[]> {
  return (await provider.list(never())).map(({ name }) => name);
}

/** Calls a tool that does not return, and waits until it runs. */
export async function startSlow(provider: ToolProvider, { events }: McpHttpServer, signal = never()) {
  const running = once(events, 'call:slow');
  const ended = callOf(provider, 'slow', {}, signal).catch((error: unknown) => error);
  await running;
  return { ended };
}

/** A server whose tool `flood` answers without end, and whose tool `small` does not. */
export function startFlooding(type: string, onWritten: (bytes: number) => void) {
  return startTlsSite(async (request, response) => {
    request.setEncoding('utf8');
    const body = (await request.toArray()).join('');
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'server/discover') return void response.writeHead(400).end('It begins with initialize.');
    if (params?.name === 'flood') return flood(response, type, onWritten);
    const results: Readonly<Record<string, unknown>> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'f', version: '1' },
      },
      'tools/list': { tools: [{ name: 'flood' }, { name: 'small' }] },
      'tools/call': { content: [{ type: 'text', text: 'small' }] },
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
  });
}

function flood(response: ServerResponse, type: string, onWritten: (bytes: number) => void): void {
  const piece = Buffer.alloc(64 * 1024, 'x');
  response.writeHead(200, { 'content-type': type });
  response.write(type === 'text/event-stream' ? 'data: ' : '"');
  const write = () => {
    while (!response.destroyed && response.write(piece)) onWritten(piece.length);
    response.once('drain', write);
  };
  write();
}

/** Writes `first`, then goes on to write until the client leaves. */
export function drip(response: ServerResponse, write: () => unknown, first?: string): void {
  if (first !== undefined) response.socket?.write(first);
  const timer = setInterval(write, 10);
  response.once('close', () => clearInterval(timer));
}
