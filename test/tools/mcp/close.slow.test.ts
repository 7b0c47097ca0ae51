/** What is left when the tools are closed: nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import {
  callTool,
  childProcesses,
  closeAll,
  failureOf,
  isRunning,
  never,
  noChildProcesses,
  openTools,
  pidOf,
  progressOf,
  serverOver,
  startServer,
  states,
  stdioServer,
  until,
  useFakeTimers,
} from '../../support/mcp-client.ts';

afterEach(closeAll);

describe('close', () => {
  it.each(['stdio', 'streamable-http', 'sse'])(
    '[T-01] over %s fails what is in flight and leaves no process, socket or session',
    async (transport) => {
      const { server, config } = await serverOver(transport);
      const tools = openTools({ a: config });
      await tools.list(never());
      const slow = failureOf(callTool(tools, 'a/slow'));
      await until(async () => (await progressOf(tools)) === '1 started, 0 cancelled');
      await Promise.all([tools.close(), tools.close()]);
      await Promise.all([server.allSocketsClosed(), noChildProcesses()]);
      expect([(await slow).name, server.sessions.size]).toEqual(['McpCallError', 0]);
    },
  );

  it('[T-01] ends what is still connecting', async () => {
    const tools = openTools({ silent: stdioServer('--silent') });
    const listing = tools.list(never());
    await until(() => childProcesses() > 0);
    await tools.close();
    await noChildProcesses();
    expect([await listing, states(tools)]).toEqual([[], { silent: 'closed' }]);
  });

  it('[T-01] over SSE ends what is still connecting', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const tools = openTools({ a: { url: `http://127.0.0.1:${port}/sse`, type: 'sse' } }, { connectTimeoutMs: 60_000 });
    const listing = tools.list(never());
    await once(silent, 'request');
    const left = once(silent, 'close');
    silent.close();
    await tools.close();
    await left;
    expect(await listing).toEqual([]);
  });

  it('[T-01] kills a process that does not end, after it has informed its callers', async () => {
    const tools = openTools({ a: stdioServer('--stubborn') });
    const pid = await pidOf(tools);
    const slow = failureOf(callTool(tools, 'a/slow'));
    await until(async () => (await progressOf(tools)) === '1 started, 0 cancelled');
    const closing = tools.close();
    const { name } = await slow;
    const running = isRunning(pid);
    await closing;
    expect([name, running, isRunning(pid)]).toEqual(['McpCallError', true, false]);
  });

  it('[T-01] stops trying again', async () => {
    useFakeTimers();
    const server = await startServer();
    server.refuseWith = { status: 500, body: 'down' };
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    await tools.close();
    const before = server.requests.length;
    // Timers are left to the HTTP client alone.
    expect(states(tools)).toEqual({ a: 'closed' });
    jest.advanceTimersByTime(600_000);
    expect(server.requests.length).toBe(before);
  });

  it('leaves no tools, and rejects calls', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    await tools.close();
    expect([await tools.list(never()), await failureOf(callTool(tools, 'a/echo')), tools.status()]).toMatchObject([
      [],
      { message: "The MCP server 'a' is not available." },
      [{ label: 'a', state: 'closed', tools: 0 }],
    ]);
  });
});

describe('1,000 calls', () => {
  it.each(['stdio', 'streamable-http', 'resumable', 'sse'])(
    '[T-01] over %s share one connection, and leave nothing',
    async (transport) => {
      const { server, config } = await serverOver(transport);
      const tools = openTools({ a: config });
      const calls = Array.from({ length: 1_000 }, (_value, index) => callTool(tools, 'a/echo', { text: `${index}` }));
      const results = await Promise.all(calls);
      const sessions = server.sessions.size;
      const processes = childProcesses();
      await tools.close();
      await Promise.all([server.allSocketsClosed(), noChildProcesses()]);
      const stdio = transport === 'stdio';
      expect([results.map(({ content }) => content), sessions, processes, server.sessions.size]).toEqual([
        Array.from({ length: 1_000 }, (_value, index) => `${index}`),
        stdio ? 0 : 1,
        stdio ? 1 : 0,
        0,
      ]);
      expect(server.sockets.most).toBeLessThanOrEqual(128);
    },
  );
});
