/** Uses `mcpTools` as a turn does, and closes everything that a test has opened. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { type McpServerConfig, type McpTools, type McpToolsOptions, mcpTools } from '../../src/tools/mcp/index.ts';
import { type McpHttpOptions, type McpHttpServer, type SeenRequest, startMcpServer } from './mcp-http-server.ts';
import { PATIENCE_MS } from './patience.ts';
import { warningLogger } from './warning-logger.ts';

const closers: (() => Promise<unknown>)[] = [];

/** Fakes only the timers of this package; sockets and processes are real. `closeAll` restores the real timers. */
export function useFakeTimers(): void {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'hrtime', 'performance'] });
}

/** Closes everything that was opened, in reverse order; for `afterEach`. */
export async function closeAll(): Promise<void> {
  jest.useRealTimers();
  for (const close of closers.splice(0).reverse()) await close();
}

/** Registers something for `closeAll`. */
export function closeLater(close: () => Promise<unknown>): void {
  closers.push(close);
}

/** A server over streamable HTTP and SSE. */
export async function startServer(options?: McpHttpOptions): Promise<McpHttpServer> {
  const server = await startMcpServer(options);
  closeLater(server.close);
  return server;
}

/** Tools whose warnings are kept. */
export interface OpenTools extends McpTools {
  readonly warnings: readonly string[];
}

/** The tools of these servers. */
export function openTools(
  servers: Readonly<Record<string, McpServerConfig>>,
  options: Omit<McpToolsOptions, 'servers'> = {},
): OpenTools {
  const warnings: string[] = [];
  const tools = mcpTools({
    servers,
    connectTimeoutMs: BUSY_MACHINE_MS,
    logger: warningLogger(warnings),
    ...options,
  });
  closeLater(tools.close);
  return { ...tools, warnings };
}

/** How long a server may take on a busy machine. */
const BUSY_MACHINE_MS = 60_000;

/** The test server as a child process. */
export function stdioServer(...args: readonly string[]): McpServerConfig {
  const script = new URL('mcp-stdio-server.mjs', import.meta.url).pathname;
  return { command: process.execPath, args: [script, ...args] };
}

/** The test server over the named transport; `json` and `resumable` are streamable HTTP, too. */
export async function serverOver(transport: string): Promise<{ server: McpHttpServer; config: McpServerConfig }> {
  const server = await startServer({ json: transport === 'json', resumable: transport === 'resumable' });
  if (transport === 'stdio') return { server, config: stdioServer() };
  return { server, config: transport === 'sse' ? { url: server.sseUrl, type: 'sse' } : { url: server.url } };
}

/** A signal that is never aborted; a new one each time, as each collects listeners. */
export function never(): AbortSignal {
  return new AbortController().signal;
}

/** Calls a tool. */
export function callTool(
  tools: McpTools,
  tool: string,
  args: Readonly<Record<string, unknown>> = {},
  signal = never(),
) {
  const [server = '', name = ''] = tool.split('/');
  return tools.call({ server, name, arguments: args, scope: 'anonymous', requestId: 'req', request: {} }, signal);
}

/** The id of the server's process. */
export async function pidOf(tools: McpTools): Promise<number> {
  return Number((await callTool(tools, 'a/pid')).content);
}

/** The progress of the slow calls. */
export async function progressOf(tools: McpTools): Promise<unknown> {
  return (await callTool(tools, 'a/progress')).content;
}

/** How often a client has initialized a session. */
export function sessionsOpened({ requests }: McpHttpServer): number {
  const isFirst = ({ method, headers }: SeenRequest) =>
    method === 'POST' && !headers['mcp-session-id'] && !headers['mcp-method'];
  return requests.filter(isFirst).length;
}

/** The names of the listed tools, as `server/tool`. */
export async function toolNames(tools: McpTools): Promise<readonly string[]> {
  return (await tools.list(never())).map(({ server, name }) => `${server}/${name}`);
}

/** The state of each server by label. */
export function states(tools: McpTools): Readonly<Record<string, string>> {
  return Object.fromEntries(tools.status().map(({ label, state }) => [label, state]));
}

/** What a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => new Error('It did not fail.'),
    (error: unknown) => error,
  );
  return outcome as Error;
}

/** Waits for a condition without an event: checks it after each round of the event loop, for as long as tests are patient. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const start = process.hrtime()[0];
  while (!(await isSo())) {
    if ((process.hrtime()[0] - start) * 1000 > PATIENCE_MS) throw new Error(`The condition was never met: ${isSo}`);
    await nextTurn();
  }
}

/** Whether a process runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Resolves when this process has no child process. Node forgets a process one round after its end. */
export function noChildProcesses(): Promise<void> {
  return until(() => childProcesses() === 0);
}

/** How many child processes this process has. */
export function childProcesses(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length;
}

/** The tool's call fails by itself: the next one on the same connection, or on a new one, is answered. */
export async function expectOneFailure(tools: McpTools, name: string): Promise<void> {
  const error = await failureOf(callTool(tools, name));
  const next = await callTool(tools, 'a/echo', { text: 'next' });
  expect([error.name, next]).toEqual(['McpCallError', { content: 'next' }]);
}
