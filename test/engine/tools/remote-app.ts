/** An app whose requests may bring MCP servers, and a record of all that it sends, keeps and reports. */
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import {
  type ApprovalInfo,
  type Hooks,
  memoryStore,
  type RemoteServers,
  type RouterOptions,
} from '../../../src/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { type App, startApp } from '../../support/app.ts';
import { closeLater } from '../../support/mcp-client.ts';
import type { McpHttpServer } from '../../support/mcp-http-server.ts';
import { HOST } from '../../tools/mcp/remote-support.ts';

/** What nobody but the MCP server may see. */
export const SECRET = 'hunter2-hunter2-hunter2';

/** A server as a client brings it, with its secrets, and whether its calls wait. */
export interface BroughtServer {
  readonly label: string;
  readonly url: string;
  readonly authorization: string;
  readonly headers: Record<string, string>;
  readonly approval: 'always' | 'never';
}

/** A running app, and its model server. */
export interface RemoteApp extends App {
  readonly fake: FakeUpstream;
  readonly approvals: readonly ApprovalInfo[];
  /**
   * All bytes to clients, all requests to the model server, and all that was put into the store, reported to hooks, warned
   * of and written to the console, errors with their causes.
   */
  everything(): string;
}

/** Starts the app; `closeAll` ends it. */
export async function startRemoteApp(remoteMcp: RemoteServers, options: RouterOptions = {}): Promise<RemoteApp> {
  const fake = await startFakeUpstream();
  closeLater(fake.close);
  const record: unknown[] = [];
  const approvals: ApprovalInfo[] = [];
  const all = { scope: () => 'everyone', store: storeOn(record), hooks: hooksOn(record, approvals), ...options };
  const app = await startApp({ upstream: fake, options: { ...all, remoteMcp } });
  closeLater(app.close);
  app.server.prependListener('request', (_, response) => recordBytes(response, record));
  listen(record);
  const requested = () => fake.requests.map(({ headers, body }) => [headers, body]);
  return { ...app, fake, approvals, everything: () => textOf([record, requested()]) };
}

function storeOn(record: unknown[]) {
  const store = memoryStore();
  const put: typeof store.put = (stored) => {
    record.push('put', stored);
    return store.put(stored);
  };
  return { ...store, put };
}

function hooksOn(record: unknown[], approvals: ApprovalInfo[]): Required<Hooks> {
  const received = (...values: readonly unknown[]) => void record.push(...values);
  return {
    onRequest: received,
    // Its body is what the client wrote, credentials included: the one thing here that may hold them.
    onTurn: () => received,
    onResponse: received,
    onAttempt: received,
    onToolCall: received,
    onToolProgress: received,
    onGuard: received,
    onError: received,
    onNote: received,
    onApproval(info) {
      approvals.push(info);
      received(info);
    },
  };
}

function recordBytes(response: ServerResponse, record: unknown[]): void {
  const { write, end } = response;
  // The casts: all overloads take what they are given.
  response.write = (...args: readonly unknown[]) => {
    record.push(String(args[0]));
    return write.apply(response, args as Parameters<typeof write>);
  };
  response.end = ((...args: readonly unknown[]) => {
    record.push(String(args[0]));
    return end.apply(response, args as Parameters<typeof end>);
  }) as typeof end;
}

/** What a process that has a problem says by itself. */
function listen(record: unknown[]): void {
  for (const [object, method] of SPEAKERS) {
    const original = object[method];
    object[method] = (...values: readonly unknown[]) => void record.push(method, ...values);
    closeLater(async () => {
      object[method] = original;
    });
  }
}

type Speaker = Record<string, unknown>;
// The cast: only these methods are replaced.
const SPEAKERS = [
  [process, 'emitWarning'],
  ...['log', 'info', 'warn', 'error', 'debug'].map((method) => [console, method]),
] as unknown as readonly (readonly [Speaker, string])[];

function textOf(values: unknown): string {
  const whole = { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null };
  return inspect(values, whole);
}

/** The test server as clients bring it. */
export function brought({ port }: { readonly port: number }, more: Partial<BroughtServer> = {}): BroughtServer {
  const url = `https://${HOST}:${port}/mcp`;
  return { label: 'docs', url, authorization: SECRET, headers: { 'X-Key': SECRET }, approval: 'never', ...more };
}

/** The server as the wire has it. */
export function wireTool({ label, url, approval, ...secrets }: BroughtServer) {
  return { type: 'mcp' as const, server_label: label, server_url: url, require_approval: approval, ...secrets };
}

/** The arguments of each call of `echo`, as they come in. */
export function echoesOf({ events }: McpHttpServer): readonly unknown[] {
  const seen: unknown[] = [];
  events.on('call:echo', (args) => seen.push(args));
  return seen;
}
