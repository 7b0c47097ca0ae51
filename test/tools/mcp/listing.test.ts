/** Listing tools: every transport, what fails, and the cache. */
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { NOBODY } from '../../support/listening.ts';
import {
  callTool,
  closeAll,
  failureOf,
  never,
  noChildProcesses,
  openTools,
  sessionsOpened,
  startServer,
  states,
  stdioServer,
  toolNames,
  until,
  useFakeTimers,
} from '../../support/mcp-client.ts';

const SECRET = 'hunter2-hunter2';

afterEach(closeAll);

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
      ].map((tool) => ({
        ...tool,
        parameters: { type: 'object', properties: {} },
        protocol: { era: 'legacy', version: '2025-11-25' },
      })),
    );
  });

  it('marks the tools of servers that requests may not name', async () => {
    const { url } = await startServer();
    const servers = { a: { url, allowedTools: ['image'] }, b: { url, allowedTools: ['image'] } };
    const listed = await openTools(servers, { requestLabels: ['b'] }).list(never());
    expect(listed.map(({ server, requestsMayName = true }) => [server, requestsMayName])).toEqual([
      ['a', false],
      ['b', true],
    ]);
    for (const requestLabels of ['a', [1]])
      expect(() => openTools({}, { requestLabels: requestLabels as unknown as string[] })).toThrow(
        'mcpTools: requestLabels must be an array of labels, got',
      );
  });

  it('[F-29] goes over to SSE for a bare URL whose server speaks nothing else, and stays with it', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.sseUrl, allowedTools: ['echo'] } });
    expect([await toolNames(tools), tools.status(), tools.warnings]).toEqual([
      ['a/echo'],
      [expect.objectContaining({ transport: 'sse', state: 'ready' })],
      [],
    ]);
    expect((await callTool(tools, 'a/echo', { text: 'hello' })).content).toBe('hello');
    server.cut();
    await server.allSocketsClosed();
    await until(() => states(tools).a === 'idle');
    const before = server.requests.length;
    expect((await callTool(tools, 'a/echo', { text: 'again' })).content).toBe('again');
    expect(server.requests[before]?.method).toBe('GET');
  });

  it.each([
    ['streamable-http', 'POST', { type: 'http' }],
    ['sse', 'GET', { transport: 'sse' }],
  ])('[F-29] stays with %s where the config reports it', async (transport, method, named) => {
    const server = await startServer();
    server.refuseWith = { status: 405, body: '' };
    const tools = openTools({ a: { url: server.sseUrl, ...named } });
    await tools.list(never());
    expect([tools.status(), new Set(server.requests.map((request) => request.method))]).toEqual([
      [expect.objectContaining({ transport, state: 'failed' })],
      new Set([method]),
    ]);
  });

  it.each([401, 403, 500])(
    '[F-28] [F-29] asks a server that answers %d once, and reports it of each call',
    async (status) => {
      const server = await startServer();
      server.refuseWith = { status, body: 'Who are you?' };
      const tools = openTools({ a: { url: server.url } });
      await tools.list(never());
      const error = await failureOf(callTool(tools, 'a/echo'));
      expect([error, server.requests.length]).toEqual([
        expect.objectContaining({ type: 'http_error', code: status }),
        1,
      ]);
      expect(error.message).toMatch(new RegExp(`^The MCP server 'a' answered with HTTP ${status} \\(.+\\)\\.$`));
    },
  );

  it('[T-01] does nothing before it is asked, unless the host wants to connect at the start', async () => {
    const server = await startServer();
    const lazy = openTools({ a: { url: server.url } });
    expect([server.requests.length, states(lazy)]).toEqual([0, { a: 'idle' }]);
    const eager = openTools({ a: { url: server.url } }, { connect: 'eager' });
    expect(states(eager)).toEqual({ a: 'connecting' });
    await until(() => states(eager).a === 'ready');
    expect(eager.status()).toMatchObject([{ label: 'a', transport: 'streamable-http', state: 'ready', tools: 18 }]);
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
    const tools = openTools({
      down: { url: `${NOBODY.url}/mcp` },
      downSse: { url: `${NOBODY.url}/sse`, type: 'sse' },
      none: { command: '/no/such/command' },
      quits: { ...stdioServer('--quit'), env: { TEST_TOKEN: SECRET } },
      good: { url: server.url, allowedTools: ['echo'] },
    });
    expect(await toolNames(tools)).toEqual(['good/echo']);
    expect([...tools.warnings].sort()).toEqual([
      "mcpTools: server 'down' is unavailable and is tried again: fetch failed (ECONNREFUSED)",
      expect.stringMatching(/^mcpTools: server 'downSse' is unavailable and is tried again: SSE error: .*fetch failed/),
      "mcpTools: server 'none' is unavailable and is tried again: spawn /no/such/command ENOENT",
      "mcpTools: server 'quits' is unavailable and is tried again: Connection closed Its log ends: cannot start with ***",
    ]);
    expect(tools.status().map(({ label, state, tools: count, error }) => [label, state, count, error])).toEqual([
      ['down', 'failed', 0, 'fetch failed (ECONNREFUSED)'],
      ['downSse', 'failed', 0, expect.stringContaining('fetch failed')],
      ['none', 'failed', 0, 'spawn /no/such/command ENOENT'],
      ['quits', 'failed', 0, 'Connection closed'],
      ['good', 'ready', 1, undefined],
    ]);
  });

  it('[T-01] waits no longer than connectTimeoutMs for a server that sends nothing, and ends its process', async () => {
    const tools = openTools({ silent: stdioServer('--silent') }, { connectTimeoutMs: 300 });
    expect([await tools.list(never()), tools.status()]).toMatchObject([
      [],
      [{ state: 'failed', error: 'It did not answer within 300 ms.' }],
    ]);
    await tools.close();
    await noChildProcesses();
  });

  it('lets a request that is given up leave while the server connects', async () => {
    const tools = openTools({ silent: stdioServer('--silent') });
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
  it('[T-01] [A-33] is refreshed when the server reports that it changed', async () => {
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
    expect([busy, states(tools)]).toEqual([{ a: 'ready' }, { a: 'connecting' }]);
  });

  it('stays as it is while the server answers with errors', async () => {
    useFakeTimers();
    const server = await startServer();
    const options = { refreshMs: 1_000, idleMs: 3_600_000 };
    const tools = openTools({ a: { url: server.url, allowedTools: ['echo'] } }, options);
    await tools.list(never());
    const notNow = Promise.reject(new Error('not now'));
    notNow.catch(() => {});
    server.events.hold = notNow;
    const lists: unknown[] = [];
    server.events.on('list', () => lists.push(1));
    // The second refresh begins only after the first has ended.
    await until(async () => {
      jest.advanceTimersByTime(1_001);
      await tools.list(never());
      return lists.length === 2;
    });
    expect([await toolNames(tools), states(tools), sessionsOpened(server)]).toEqual([['a/echo'], { a: 'ready' }, 1]);
  });
});

describe('the tools that a config chooses', () => {
  it('[T-01] are the only ones that are listed and called', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url, include: ['e*', 'p*'], exclude: ['*o'], defer: ['pi?', 'p*s'] } });
    const listed = await tools.list(never());
    const failures = ['echo', 'image', 'pid'].map(async (name) => failureOf(callTool(tools, `a/${name}`)));
    expect([
      listed.map(({ name, deferred }) => `${name} ${deferred}`),
      (await Promise.all(failures)).map(({ message }) => message),
    ]).toEqual([
      ['progress true', 'pid undefined', 'environment undefined'],
      ["The MCP server 'a' has no tool 'echo'.", "The MCP server 'a' has no tool 'image'.", 'It did not fail.'],
    ]);
  });

  it('[T-01] past maxTools are deferred, and can be called all the same', async () => {
    const server = await startServer();
    const tools = openTools({ a: { url: server.url }, b: { url: server.url, maxTools: 1 } }, { maxTools: 3 });
    const direct = (await tools.list(never())).filter(({ deferred }) => !deferred);
    expect(direct.map(({ server: label, name }) => `${label}/${name}`)).toEqual([
      'a/echo',
      'a/slow',
      'a/progress',
      'b/echo',
    ]);
    expect((await callTool(tools, 'b/structured')).content).toBe('{"degrees":21}');
  });
});

it('[T-08] checks a result against the output schema of the tool', async () => {
  const server = await startServer();
  const tools = openTools({ a: { url: server.url } });
  const answers = [{}, { degrees: 'warm' }, { none: true }].map((args) => callTool(tools, 'a/structured', args));
  const [kept, ...broken] = await Promise.all(answers);
  expect([
    kept,
    broken.map(({ isError }) => isError),
    broken.map(({ content }) => String(content).split('\n')),
  ]).toEqual([
    { content: '{"degrees":21}' },
    [true, true],
    [
      [expect.stringMatching(/^The result does not match .*Expected "number"/), '{"degrees":"warm"}'],
      [expect.stringMatching(/^The tool has an output schema, but its result has no structured content/)],
    ],
  ]);
});
