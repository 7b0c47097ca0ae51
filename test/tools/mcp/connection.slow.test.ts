/** The pooled connection: broken, replaced, in backoff, idle. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { CLIENT_INFO } from '../../../src/tools/mcp/shared/client/mcp-client.ts';
import {
  callTool,
  closeAll,
  expectOneFailure,
  failureOf,
  isRunning,
  never,
  openTools,
  pidOf,
  sessionsOpened,
  startServer,
  states,
  stdioServer,
  toolNames,
  until,
  useFakeTimers,
} from '../../support/mcp-client.ts';
import { freePort } from '../../support/services.ts';

afterEach(closeAll);

describe('a connection', () => {
  it('[T-01] over stdio that breaks under a call fails that call, and is reopened by the next', async () => {
    const tools = openTools({ a: stdioServer() });
    const first = await pidOf(tools);
    expect(await failureOf(callTool(tools, 'a/crash'))).toMatchObject({
      name: 'McpCallError',
      message: 'Connection closed',
    });
    expect([states(tools), isRunning(first)]).toEqual([{ a: 'idle' }, false]);
    const second = await pidOf(tools);
    expect([second === first, isRunning(second), states(tools), tools.warnings]).toEqual([
      false,
      true,
      { a: 'ready' },
      ["mcpTools: server 'a' lost its connection, which is reopened when it is needed."],
    ]);
  });

  it.each(['streamable-http', 'sse'])(
    '[T-01] over %s that breaks under a call fails that call, and is reopened by the next',
    async (type) => {
      const server = await startServer();
      const tools = openTools({ a: { url: type === 'sse' ? server.sseUrl : server.url, type } });
      await tools.list(never());
      await expectOneFailure(tools, 'a/crash');
      expect(states(tools)).toEqual({ a: 'ready' });
    },
  );

  it('[T-01] whose session the server forgot is reopened without failing a call', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    server.forgetSessions();
    expect([await callTool(tools, 'a/echo', { text: 'again' }), sessionsOpened(server)]).toEqual([
      { content: 'again' },
      2,
    ]);
  });

  it('[T-01] to a server that is gone fails its call, and is reopened once it is back', async () => {
    const server = await startServer({ port: await freePort() });
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    await server.close();
    const error = await failureOf(callTool(tools, 'a/echo'));
    await startServer({ port: server.port });
    expect([error.message, await callTool(tools, 'a/echo', { text: 'again' })]).toEqual([
      "The MCP server 'a' is not available.",
      { content: 'again' },
    ]);
  });

  it('[T-01] carries the calls in flight to their end when it is replaced', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    const turn = new AbortController();
    const slow = failureOf(callTool(tools, 'a/slow', {}, turn.signal));
    await once(server.events, 'call:slow');
    server.refuseWith = { status: 503, body: 'busy' };
    const refused = await failureOf(callTool(tools, 'a/echo'));
    server.refuseWith = undefined;
    await callTool(tools, 'a/echo');
    const reason = new Error('enough');
    const both = server.sessions.size;
    turn.abort(reason);
    await until(() => server.sessions.size === 1);
    expect([both, refused, await slow]).toEqual([
      2,
      expect.objectContaining({
        type: 'http_error',
        code: 503,
        message: "The MCP server 'a' answered with HTTP 503 (Service Unavailable).",
      }),
      reason,
    ]);
  });

  it('[T-01] is tried again after 1 s, doubling to 60 s; until then lists and calls do without, at once', async () => {
    useFakeTimers();
    const server = await startServer();
    server.refuseWith = { status: 500, body: 'down' };
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const before = server.requests.length;
      jest.advanceTimersByTime(seconds * 1_000 - 1);
      expect([await tools.list(never()), await failureOf(callTool(tools, 'a/echo')), states(tools)]).toMatchObject([
        [],
        { message: "The MCP server 'a' answered with HTTP 500 (Internal Server Error)." },
        { a: 'failed' },
      ]);
      expect(server.requests.length).toBe(before);
      jest.advanceTimersByTime(1);
      expect([states(tools), await tools.list(never())]).toEqual([{ a: 'connecting' }, []]);
      await until(() => states(tools).a === 'failed');
    }
    server.refuseWith = undefined;
    jest.advanceTimersByTime(60_000);
    await until(() => states(tools).a === 'ready');
    expect([(await tools.list(never())).length, tools.warnings.length]).toEqual([18, 1]);
  });

  it('[T-01] that nobody uses for idleMs is closed, and reopened by the next call', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } }, { idleMs: 1_000 });
    await tools.list(never());
    jest.advanceTimersByTime(999);
    await callTool(tools, 'a/echo', { text: 'x' });
    jest.advanceTimersByTime(999);
    const kept = states(tools);
    jest.advanceTimersByTime(1);
    await server.allSocketsClosed();
    expect([kept, states(tools), server.sessions.size, (await tools.list(never())).length]).toEqual([
      { a: 'ready' },
      { a: 'idle' },
      0,
      18,
    ]);
    expect([await callTool(tools, 'a/echo', { text: 'y' }), sessionsOpened(server)]).toEqual([{ content: 'y' }, 2]);
  });

  it('[T-01] that is idle leaves no process behind', async () => {
    const tools = openTools({ a: stdioServer() }, { idleMs: 500 });
    const pid = await pidOf(tools);
    await until(() => !isRunning(pid));
    expect(states(tools)).toEqual({ a: 'idle' });
  });

  it('[T-01] that was closed is reopened for a list that is due, which it brings', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } }, { idleMs: 1_000, refreshMs: 2_000 });
    await tools.list(never());
    jest.advanceTimersByTime(2_001);
    const lists: unknown[] = [];
    server.events.on('list', () => lists.push(1));
    const before = states(tools);
    await tools.list(never());
    await until(() => states(tools).a === 'ready');
    await callTool(tools, 'a/echo', { text: 'x' });
    // Two pages.
    expect([before, lists.length]).toEqual([{ a: 'idle' }, 2]);
  });

  it('[T-01] to a server that went down takes its tools from the list, until it is back', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url, allowedTools: ['echo'] } }, { refreshMs: 2_000 });
    const first = await toolNames(tools);
    server.refuseWith = { status: 500, body: 'down' };
    jest.advanceTimersByTime(2_001);
    await tools.list(never());
    await until(() => states(tools).a === 'failed');
    const down = await toolNames(tools);
    jest.advanceTimersByTime(1_000);
    const trying = [states(tools), await toolNames(tools)];
    await until(() => states(tools).a === 'failed');
    server.refuseWith = undefined;
    jest.advanceTimersByTime(2_000);
    await until(() => states(tools).a === 'ready');
    expect([first, down, trying, await toolNames(tools)]).toEqual([
      ['a/echo'],
      [],
      [{ a: 'connecting' }, []],
      ['a/echo'],
    ]);
  });

  it('is not idle while a call is in flight', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } }, { idleMs: 1_000 });
    const turn = new AbortController();
    const slow = failureOf(callTool(tools, 'a/slow', {}, turn.signal));
    await once(server.events, 'call:slow');
    jest.advanceTimersByTime(10_000);
    const busy = states(tools);
    turn.abort();
    await slow;
    jest.advanceTimersByTime(1_000);
    expect([busy, states(tools)]).toEqual([{ a: 'ready' }, { a: 'idle' }]);
  });

  it('introduces this package by its name and version', () => {
    const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(CLIENT_INFO).toEqual({ name, version });
  });
});
