/** Tools of MCP servers: the pool of connections, its caches, and what becomes of servers that misbehave. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import { CLIENT_INFO } from '../../src/mcp/session.ts';
import {
  callTool,
  childProcesses,
  closeAll,
  failureOf,
  isRunning,
  never,
  noChildProcesses,
  type OpenTools,
  openTools,
  startServer,
  states,
  stdioServer,
  toolNames,
  until,
} from '../support/mcp-client.ts';
import type { McpHttpServer } from '../support/mcp-http-server.ts';
import { LARGE, PIXEL } from '../support/mcp-tool-set.mjs';

const SECRET = 'hunter2-hunter2';

afterEach(async () => {
  jest.useRealTimers();
  await closeAll();
});

/** Only what we ourselves wait for; sockets and processes go on. */
function useFakeTimers(): void {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'hrtime', 'performance'] });
}

/** The process that answers. */
async function pidOf(tools: OpenTools): Promise<number> {
  return Number((await callTool(tools, 'a/pid')).content);
}

/** How far the slow calls are. */
async function progressOf(tools: OpenTools): Promise<unknown> {
  return (await callTool(tools, 'a/progress')).content;
}

/** How often a client has introduced itself. */
function sessionsOpened({ requests }: McpHttpServer): number {
  return requests.filter(({ method, headers }) => method === 'POST' && !headers['mcp-session-id']).length;
}

describe('listing tools', () => {
  it('[T-01] connects to all servers over stdio, streamable HTTP and SSE, in the order of the config', async () => {
    const server = await startServer();
    const tools = openTools({
      c: { ...stdioServer(), allowedTools: ['echo', 'fail'] },
      a: { url: server.url, allowedTools: ['image'] },
      b: { url: server.sseUrl, type: 'sse', allowedTools: ['pid'] },
    });
    expect(await tools.list(never())).toEqual(
      [
        { name: 'echo', server: 'c' },
        { name: 'fail', server: 'c' },
        { name: 'image', server: 'a' },
        { name: 'pid', server: 'b' },
      ].map((tool) => ({ ...tool, parameters: { type: 'object', properties: {} } })),
    );
  });

  it('[T-01] does nothing before it is asked, unless the host wants to connect at the start', async () => {
    const server = await startServer();
    const lazy = openTools({ a: { url: server.url } });
    expect([server.requests.length, states(lazy)]).toEqual([0, { a: 'idle' }]);
    const eager = openTools({ a: { url: server.url } }, { connect: 'eager' });
    expect(states(eager)).toEqual({ a: 'connecting' });
    await until(() => states(eager).a === 'ready');
    expect(eager.status()).toMatchObject([{ label: 'a', transport: 'streamable-http', state: 'ready', tools: 14 }]);
  });

  it('[T-01] asks a server once, however many requests list at the same time', async () => {
    const server = await startServer();
    const lists: unknown[] = [];
    server.events.on('list', () => lists.push(1));
    const tools = openTools({ a: { url: server.url } });
    await Promise.all(Array.from({ length: 20 }, () => tools.list(never())));
    await tools.list(never());
    // Two pages.
    expect([lists.length, sessionsOpened(server)]).toEqual([2, 1]);
  });

  it('[T-01] [A-31] [B-16] leaves out a server that fails, with one warning, and keeps the others', async () => {
    const server = await startServer();
    const { port, close } = await startServer();
    await close();
    const tools = openTools({
      down: { url: `http://127.0.0.1:${port}/mcp` },
      downSse: { url: `http://127.0.0.1:${port}/sse`, type: 'sse' },
      none: { command: '/no/such/command' },
      quits: { ...stdioServer('--quit'), env: { TEST_TOKEN: SECRET } },
      good: { url: server.url, allowedTools: ['echo'] },
    });
    expect(await toolNames(tools)).toEqual(['good/echo']);
    expect([...tools.warnings].sort()).toEqual([
      "mcpTools: server 'down' is unavailable and is tried again: fetch failed (ECONNREFUSED)",
      expect.stringMatching(/^mcpTools: server 'downSse' is unavailable and is tried again: SSE error: .*fetch failed/),
      "mcpTools: server 'none' is unavailable and is tried again: spawn /no/such/command ENOENT",
      "mcpTools: server 'quits' is unavailable and is tried again: MCP error -32000: Connection closed Its log ends: cannot start with ***",
    ]);
    expect(tools.status().map(({ label, state, tools: count, error }) => [label, state, count, error])).toEqual([
      ['down', 'failed', 0, 'fetch failed (ECONNREFUSED)'],
      ['downSse', 'failed', 0, expect.stringContaining('fetch failed')],
      ['none', 'failed', 0, 'spawn /no/such/command ENOENT'],
      ['quits', 'failed', 0, 'MCP error -32000: Connection closed'],
      ['good', 'ready', 1, undefined],
    ]);
  });

  it('[T-01] waits no longer than connectTimeoutMs for a server that says nothing, and ends its process', async () => {
    const tools = openTools({ deaf: stdioServer('--deaf') }, { connectTimeoutMs: 300 });
    expect([await tools.list(never()), tools.status()]).toMatchObject([
      [],
      [{ state: 'failed', error: 'It did not answer within 300 ms.' }],
    ]);
    await tools.close();
    await noChildProcesses();
  });

  it('lets a request that is given up leave while the server connects', async () => {
    const tools = openTools({ deaf: stdioServer('--deaf') });
    const turn = new AbortController();
    const listing = tools.list(turn.signal);
    turn.abort(new Error('hung up'));
    await expect(listing).rejects.toThrow('hung up');
  });

  it('understands a server that writes logs where only messages belong', async () => {
    const tools = openTools({ noisy: { ...stdioServer('--noisy'), allowedTools: ['echo'] } });
    expect(await toolNames(tools)).toEqual(['noisy/echo']);
  });
});

describe('the list of tools', () => {
  it('[T-01] [A-33] is refreshed when the server says that it changed', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url, allowedTools: ['add', 'late'] } });
    const before = await toolNames(tools);
    const relisted = once(server.events, 'list');
    await callTool(tools, 'a/add');
    await relisted;
    await until(async () => (await tools.list(never())).length > 1);
    expect([before, await toolNames(tools)]).toEqual([['a/add'], ['a/add', 'a/late']]);
  });

  it('[T-01] [A-33] is refreshed in the background when it is older than refreshMs', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url, allowedTools: ['add', 'late'] } }, { refreshMs: 5_000 });
    await tools.list(never());
    await callTool(tools, 'a/add', { quietly: true });
    const lists: unknown[] = [];
    server.events.on('list', () => lists.push(1));
    jest.advanceTimersByTime(5_000);
    const fresh = await toolNames(tools);
    jest.advanceTimersByTime(1);
    const stale = await toolNames(tools);
    await until(async () => (await tools.list(never())).length > 1);
    expect([fresh, stale, await toolNames(tools), lists.length]).toEqual([
      ['a/add'],
      ['a/add'],
      ['a/add', 'a/late'],
      2,
    ]);
  });

  it('[B-17] is refreshed once for a tool that is not on it', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    const lists: unknown[] = [];
    server.events.on('list', () => lists.push(1));
    const error = await failureOf(callTool(tools, 'a/none'));
    expect([error, lists.length]).toEqual([
      expect.objectContaining({
        type: 'mcp_protocol_error',
        code: -32602,
        message: "The MCP server 'a' has no tool 'none'.",
      }),
      2,
    ]);
  });

  it('[B-17] has a tool that was added unannounced when it is called', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    await callTool(tools, 'a/add', { quietly: true });
    expect(await callTool(tools, 'a/late')).toEqual({ content: 'better than never' });
  });

  it('[T-01] keeps tools that are not allowed from being called, without asking the server', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url, allowedTools: ['echo'] } });
    await tools.list(never());
    const before = server.requests.length;
    await expect(callTool(tools, 'a/fail')).rejects.toThrow("The MCP server 'a' has no tool 'fail'.");
    expect(server.requests.length).toBe(before);
  });

  it('[T-01] is given up with a connection that no longer answers, but not while calls are in flight', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } }, { refreshMs: 1_000, connectTimeoutMs: 200 });
    await tools.list(never());
    server.events.hold = new Promise(() => {});
    const turn = new AbortController();
    const slow = failureOf(callTool(tools, 'a/slow', {}, turn.signal));
    await once(server.events, 'call:slow');
    const refreshed = async () => {
      const givenUp = once(server.events, 'cancelled:list');
      jest.advanceTimersByTime(1_001);
      await tools.list(never());
      await givenUp;
    };
    await refreshed();
    const busy = states(tools);
    turn.abort();
    await slow;
    await refreshed();
    expect([busy, states(tools)]).toEqual([{ a: 'ready' }, { a: 'idle' }]);
  });

  it('stays as it is while the server answers with errors', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url, allowedTools: ['echo'] } }, { refreshMs: 1_000 });
    await tools.list(never());
    const notNow = Promise.reject(new Error('not now'));
    notNow.catch(() => {});
    server.events.hold = notNow;
    jest.advanceTimersByTime(1_001);
    const asked = once(server.events, 'list');
    await tools.list(never());
    await asked;
    await callTool(tools, 'a/echo', { text: 'still here' });
    expect([await toolNames(tools), states(tools), sessionsOpened(server)]).toEqual([['a/echo'], { a: 'ready' }, 1]);
  });
});

describe('a call', () => {
  it.each(['stdio', 'streamable-http', 'json', 'sse'])(
    '[T-08] brings every kind of result over %s',
    async (transport) => {
      const server = await startServer({ json: transport === 'json' });
      const url = transport === 'sse' ? { url: server.sseUrl, type: 'sse' } : { url: server.url };
      const tools = openTools({ a: transport === 'stdio' ? stdioServer() : url });
      const large = await callTool(tools, 'a/large');
      expect([
        await callTool(tools, 'a/echo', { text: 'hello' }),
        await callTool(tools, 'a/fail'),
        await callTool(tools, 'a/image'),
        await callTool(tools, 'a/structured'),
        large.content === 'x'.repeat(LARGE),
      ]).toEqual([
        { content: 'hello' },
        { content: 'It went wrong.', isError: true },
        { content: [{ type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` }] },
        { content: '{"degrees":21}' },
        true,
      ]);
    },
  );

  it.each(['stdio', 'streamable-http', 'sse'])(
    '[T-01] that answers with more than any message may be fails over %s',
    async (transport) => {
      const server = await startServer();
      const url = transport === 'sse' ? { url: server.sseUrl, type: 'sse' } : { url: server.url };
      const tools = openTools({ a: transport === 'stdio' ? stdioServer() : url });
      const error = await failureOf(callTool(tools, 'a/huge'));
      expect([error.name, await callTool(tools, 'a/echo', { text: 'next' })]).toEqual([
        'McpCallError',
        { content: 'next' },
      ]);
    },
  );

  it('carries the error of the protocol, with its code', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    expect(await failureOf(callTool(tools, 'a/refuse', { because: 'of you' }))).toMatchObject({
      name: 'McpCallError',
      type: 'mcp_protocol_error',
      code: -32602,
      message: 'refused: of you',
    });
  });

  it('to a server that nobody configured fails', async () => {
    await expect(callTool(openTools({}), 'x/echo')).rejects.toThrow("The MCP server 'x' is not available.");
  });

  it.each(['stdio', 'streamable-http', 'sse'])(
    '[T-05] that is given up over %s tells the server, and leaves the connection to the others',
    async (transport) => {
      const server = await startServer({ resumable: true });
      const url = transport === 'sse' ? { url: server.sseUrl, type: 'sse' } : { url: server.url };
      const tools = openTools({ a: transport === 'stdio' ? stdioServer() : url });
      const pid = await pidOf(tools);
      const turn = new AbortController();
      const slow = failureOf(callTool(tools, 'a/slow', {}, turn.signal));
      const other = new AbortController();
      const alsoSlow = failureOf(callTool(tools, 'a/slow', {}, other.signal));
      await until(async () => (await progressOf(tools)) === '2 started, 0 cancelled');
      const reason = new Error('time is up');
      turn.abort(reason);
      expect(await slow).toBe(reason);
      await until(async () => (await progressOf(tools)) === '2 started, 1 cancelled');
      other.abort(reason);
      await alsoSlow;
      expect([await pidOf(tools), server.sessions.size]).toEqual([pid, transport === 'stdio' ? 0 : 1]);
    },
  );

  it('[T-05] that is given up lets go of its socket', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    const turn = new AbortController();
    const slow = failureOf(callTool(tools, 'a/slow', {}, turn.signal));
    await once(server.events, 'call:slow');
    const closed = once(server.events, 'socket-closed');
    turn.abort(new Error('time is up'));
    await Promise.all([closed, slow]);
    expect(states(tools)).toEqual({ a: 'ready' });
  });

  it('is not cancelled by what becomes of its turn later', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    const turn = new AbortController();
    await callTool(tools, 'a/echo', { text: 'x' }, turn.signal);
    const before = server.requests.length;
    turn.abort();
    await callTool(tools, 'a/echo', { text: 'x' });
    expect(server.requests.length - before).toBe(1);
  });

  it('that was given up before it began does not reach the server', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    const before = server.requests.length;
    await expect(callTool(tools, 'a/echo', {}, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    expect(server.requests.length).toBe(before);
  });
});

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
      ["mcpTools: server 'a' broke its connection, which is reopened when it is needed."],
    ]);
  });

  it.each(['streamable-http', 'sse'])(
    '[T-01] over %s that breaks under a call fails that call, and is reopened by the next',
    async (type) => {
      const server = await startServer();
      const tools = openTools({ a: { url: type === 'sse' ? server.sseUrl : server.url, type } });
      await tools.list(never());
      const error = await failureOf(callTool(tools, 'a/crash'));
      expect([error.name, await callTool(tools, 'a/echo', { text: 'again' }), states(tools)]).toEqual([
        'McpCallError',
        { content: 'again' },
        { a: 'ready' },
      ]);
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
    const server = await startServer();
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
    turn.abort(reason);
    expect([refused, await slow]).toEqual([
      expect.objectContaining({ type: 'http_error', code: 503, message: "The MCP server 'a' answered with HTTP 503." }),
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
        { message: "The MCP server 'a' is not available." },
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
    expect([(await tools.list(never())).length, tools.warnings.length]).toEqual([14, 1]);
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
      14,
    ]);
    expect([await callTool(tools, 'a/echo', { text: 'y' }), sessionsOpened(server)]).toEqual([{ content: 'y' }, 2]);
  });

  it('[T-01] that is idle leaves no process behind', async () => {
    const tools = openTools({ a: stdioServer() }, { idleMs: 500 });
    const pid = await pidOf(tools);
    await until(() => !isRunning(pid));
    expect(states(tools)).toEqual({ a: 'idle' });
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

describe('close', () => {
  it.each(['stdio', 'streamable-http', 'sse'])(
    '[T-01] over %s fails what is in flight and leaves no process, socket or session',
    async (transport) => {
      const server = await startServer();
      const url = transport === 'sse' ? { url: server.sseUrl, type: 'sse' } : { url: server.url };
      const tools = openTools({ a: transport === 'stdio' ? stdioServer() : url });
      await tools.list(never());
      const slow = failureOf(callTool(tools, 'a/slow'));
      await until(async () => (await progressOf(tools)) === '1 started, 0 cancelled');
      await Promise.all([tools.close(), tools.close()]);
      await Promise.all([server.allSocketsClosed(), noChildProcesses()]);
      expect([(await slow).name, server.sessions.size]).toEqual(['McpCallError', 0]);
    },
  );

  it('[T-01] ends what is still connecting', async () => {
    const tools = openTools({ deaf: stdioServer('--deaf') });
    const listing = tools.list(never());
    await until(() => childProcesses() > 0);
    await tools.close();
    await noChildProcesses();
    expect([await listing, states(tools)]).toEqual([[], { deaf: 'closed' }]);
  });

  it('[T-01] stops trying again', async () => {
    useFakeTimers();
    const server = await startServer();
    server.refuseWith = { status: 500, body: 'down' };
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    await tools.close();
    const before = server.requests.length;
    expect([jest.getTimerCount(), states(tools)]).toEqual([0, { a: 'closed' }]);
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
  it.each(['stdio', 'streamable-http', 'resumable', 'json', 'sse'])(
    '[T-01] over %s share one connection, and leave nothing',
    async (transport) => {
      const server = await startServer({ json: transport === 'json', resumable: transport === 'resumable' });
      const url = transport === 'sse' ? { url: server.sseUrl, type: 'sse' } : { url: server.url };
      const tools = openTools({ a: transport === 'stdio' ? stdioServer() : url });
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

describe('secrets', () => {
  const unseen = (value: unknown) => expect(inspect(value, { depth: 20, showHidden: true })).not.toContain('hunter2');

  it('[A-35] [B-32] of an HTTP server are sent to it, and appear in nothing that comes back', async () => {
    const server = await startServer();
    const query = encodeURIComponent(`${SECRET}?&`);
    const url = `${server.url}?api_key=${query}`;
    const config = { url, headers: { 'X-Api-Key': SECRET, Authorization: `Bearer ${SECRET}` }, label: 'a' };
    const tools = openTools({ a: config });
    await tools.list(never());
    const [first] = server.requests;
    expect([first?.url, first?.headers['x-api-key'], first?.headers.authorization]).toEqual([
      `/mcp?api_key=${query}`,
      SECRET,
      `Bearer ${SECRET}`,
    ]);
    const told = await callTool(tools, 'a/headers');
    expect(told.content).toContain('"x-api-key":"***"');
    const refused = await failureOf(callTool(tools, 'a/refuse', { because: `of ${SECRET} and ${query}` }));
    expect(refused.message).toBe('refused: of *** and ***');
    server.refuseWith = { status: 401, body: `no ${SECRET}, no Bearer ${SECRET}, no ${url}` };
    const failed = await failureOf(callTool(tools, 'a/echo'));
    const retried = openTools({ a: config });
    await retried.list(never());
    expect(retried.status()).toMatchObject([{ error: expect.stringContaining('no ***') }]);
    unseen([told, refused, failed, tools.status(), tools.warnings, retried.status(), retried.warnings]);
  });

  it('[A-35] [B-32] of a process are given to it, and appear in nothing that comes back; it gets nothing else of ours', async () => {
    process.env.MCP_TEST_HOST = 'of the host alone';
    const config = { ...stdioServer(), env: { API_KEY: SECRET, MODE: 'fast' } };
    const tools = openTools({ a: config, quits: { ...stdioServer('--quit'), env: { TEST_TOKEN: SECRET } } });
    await tools.list(never());
    const told = await callTool(tools, 'a/environment');
    delete process.env.MCP_TEST_HOST;
    const { API_KEY, MODE, MCP_TEST_HOST } = JSON.parse(String(told.content));
    expect({ API_KEY, MODE, MCP_TEST_HOST }).toEqual({ API_KEY: '***', MODE: 'fast', MCP_TEST_HOST: undefined });
    const refused = await failureOf(callTool(tools, 'a/refuse', { because: SECRET }));
    unseen([told, refused, tools.status(), tools.warnings]);
  });

  it("never include the client's own: nothing of a request but its arguments reaches the server", async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } });
    const request = { headers: { authorization: `Bearer ${SECRET}` } };
    const call = { server: 'a', name: 'echo', arguments: { text: 'x' }, scope: SECRET, requestId: SECRET, request };
    await tools.call(call, never());
    unseen(server.requests);
  });
});
