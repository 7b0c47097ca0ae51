/** An MCP server over HTTP whose answers a case may rewrite. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Listening, listening } from '../support/listening.ts';

/** Where an answer is rewritten, and to which bytes. */
export interface McpAnswer {
  readonly method: string;
  readonly type: string;
  readonly body: Buffer;
  readonly status?: number;
}

/** A running server. */
export interface McpServer extends Listening {
  /** Answers requests to this path so from now on. */
  answer(path: string, answer: McpAnswer | undefined): void;
}

/** The whole answers that the cases rewrite, without `jsonrpc` and `id`. */
export const RESULTS = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
  'tools/list': {
    tools: [
      { name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    ],
  },
  'tools/call': {
    content: [
      { type: 'text', text: 'Seen.' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///a', text: 'a', mimeType: 'text/plain' } },
      { type: 'resource_link', uri: 'file:///b', name: 'b' },
    ],
    structuredContent: { seen: true },
    isError: false,
  },
} as const;

/** Starts it on a free port. */
export async function startMcpServer(): Promise<McpServer> {
  const answers = new Map<string, McpAnswer>();
  const server = await listening((request, response) => {
    serve(request, response, answers.get(request.url ?? '')).catch(() => response.destroy());
  });
  return {
    ...server,
    answer: (path, answer) => void (answer ? answers.set(path, answer) : answers.delete(path)),
  };
}

async function serve(request: IncomingMessage, response: ServerResponse, own: McpAnswer | undefined): Promise<void> {
  const sent = await text(request);
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const { id, method, params } = JSON.parse(sent);
  if (id === undefined) return void response.writeHead(202).end();
  if (method === 'server/discover') return void response.writeHead(400).end('It begins with initialize.');
  if (own && own.method === method) {
    response.writeHead(own.status ?? 200, { 'content-type': own.type });
    // Most rewritten answers are of this request.
    return void response.end(Buffer.from(own.body.toString('latin1').replace('"id":0', `"id":${id}`), 'latin1'));
  }
  const version = { protocolVersion: params?.protocolVersion };
  const result =
    method === 'initialize' ? { ...RESULTS.initialize, ...version } : RESULTS[method as keyof typeof RESULTS];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: result ?? {} }));
}
