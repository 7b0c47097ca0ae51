/** An Express app with the MCP server of the host's tools, and real clients of both SDKs and both eras. */
import { EventEmitter } from 'node:events';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import express from 'express';
import { functionTools } from '../../../src/index.ts';
import { type McpRouter, type McpRouterOptions, mcpRouter } from '../../../src/mcp.ts';
import { listening } from '../../support/listening.ts';

const closers: (() => unknown)[] = [];

/** Closes everything that was opened, in reverse order; for `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

export function closeLater(close: () => unknown): void {
  closers.push(close);
}

/** What the tools of the app have done: `called`, and `aborted` of the one that hangs. */
export type Events = EventEmitter<{ called: [name: string, scope: string]; aborted: [] }>;

/** Tools of every kind of trouble. */
export function troubleTools(events: Events) {
  const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const;
  return functionTools({
    echo: {
      description: 'Says it again.',
      parameters: text,
      execute({ text: said }, { scope }) {
        events.emit('called', 'echo', scope);
        return said;
      },
    },
    fail: {
      execute() {
        throw new Error('It went wrong.');
      },
    },
    hang: {
      execute: (_args: unknown, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          events.emit('called', 'hang', '');
          signal.addEventListener('abort', () => {
            events.emit('aborted');
            reject(signal.reason);
          });
        }),
    },
    flood: { execute: () => 'x'.repeat(2_000_000) },
    picture: {
      execute: () => ({
        content: [
          { type: 'input_text', text: 'A dot.' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_file', filename: 'a b.pdf', file_data: 'data:application/pdf;base64,BBBB' },
        ],
      }),
    },
    steps: {
      async execute(_args: unknown, { onProgress }) {
        onProgress?.({ progress: 1, total: 2, message: 'half' });
        // The SDKs lose progress that comes together with the answer.
        await new Promise((resolve) => setImmediate(resolve));
        return 'done';
      },
    },
  });
}

/** A running app. */
export interface McpApp {
  readonly url: URL;
  readonly events: Events;
  readonly router: McpRouter;
}

/** Starts it with the tools above, unless the options name others. */
export async function startMcp(options: Partial<McpRouterOptions> = {}): Promise<McpApp> {
  const events: Events = new EventEmitter();
  const router = mcpRouter({ logger: false, tools: troubleTools(events), ...options });
  const server = await listening(express().use('/v1', router));
  closeLater(async () => {
    await server.close();
    await router.close();
  });
  return { url: new URL(`${server.url}/v1/mcp`), events, router };
}

/** What is known of a client. */
export interface ClientOptions {
  /** Of the tenant. */
  readonly key?: string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What its user answers when asked; without it the client cannot ask. */
  readonly answer?: (message: string) => 'accept' | 'decline';
}

/** The clients that are tried: the older SDK, and the newer one in both eras. */
export const CLIENTS = ['SDK 1', 'SDK 2 with sessions', 'SDK 2 without sessions'] as const;

/** What tests use of the clients of both SDKs. */
export interface AnyClient {
  listTools(): Promise<{ tools: { name: string; [field: string]: unknown }[] }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** Connects a client; `open` also returns its transport, for its session. */
export async function connect(
  kind: (typeof CLIENTS)[number],
  url: URL,
  { key = 'ada', headers = {}, answer }: ClientOptions = {},
): Promise<AnyClient & { readonly sessionId: string | undefined }> {
  const info = { name: 'test', version: '1.0.0' };
  const requestInit = { headers: { authorization: `Bearer ${key}`, ...headers } };
  const capabilities = answer ? { elicitation: { form: {} } } : {};
  const client =
    kind === 'SDK 1' ? await connectOld() : await connectNew(kind === 'SDK 2 without sessions' ? 'modern' : 'legacy');
  closeLater(() => client.close());
  return client;

  async function connectOld() {
    const old = new Client(info, { capabilities });
    if (answer)
      old.setRequestHandler(ElicitRequestSchema, ({ params }) => ({ action: answer(params.message), content: {} }));
    const transport = new StreamableHTTPClientTransport(url, { requestInit });
    // The cast: the SDK's types are not written for `exactOptionalPropertyTypes`.
    await old.connect(transport as Transport);
    return Object.assign(old as unknown as AnyClient, { sessionId: transport.sessionId });
  }

  async function connectNew(era: 'modern' | 'legacy') {
    const client = new ModernClient(info, { capabilities });
    if (answer)
      client.setRequestHandler('elicitation/create', ({ params }) => ({ action: answer(params.message), content: {} }));
    client.setVersionNegotiation({ mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' });
    const transport = new ModernTransport(url, { requestInit });
    await client.connect(transport);
    return Object.assign(client as unknown as AnyClient, { sessionId: transport.sessionId });
  }
}

/** What is sent without a client: one message. */
export function post(url: URL, message: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer ada',
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
}

/** The first message of a session. */
export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

/** Begins a session and returns its id. */
export async function beginSession(url: URL, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const answer = await post(url, INITIALIZE, headers);
  await answer.text();
  return answer.headers.get('mcp-session-id') ?? `refused with ${answer.status}`;
}
