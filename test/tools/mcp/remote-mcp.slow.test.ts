/** MCP servers that a request names: reached, shared, bounded, and gone when nobody needs them. */
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { remoteMcp } from '../../../src/tools/mcp/index.ts';
import {
  closeAll,
  closeLater,
  failureOf,
  never,
  sessionsOpened,
  until,
  useFakeTimers,
} from '../../support/mcp-client.ts';
import { freePort } from '../../support/services.ts';
import {
  askedOf,
  callOf,
  describeRemote,
  HOST,
  named,
  namesOf,
  remoteFor,
  startRemote,
  startSlow,
  startTlsSite,
} from './remote-support.ts';

afterEach(closeAll);

const unavailable = { status: 422, code: 'mcp_server_unavailable', type: 'invalid_request_error', param: 'tools[2]' };

describeRemote('a remote server', () => {
  it.each([
    ['streamable HTTP', '/mcp', {}],
    ['streamable HTTP with JSON', '/mcp', { json: true }],
    ['streamable HTTP at the address of old', '/mcp/sse', {}],
    ['SSE', '/sse', {}],
    ['SSE at an address that does not say so', '/sse-or-not', {}],
  ])('[T-09] [B-18] over %s lists and calls its tools under its label', async (_name, path, options) => {
    const server = await startRemote(options);
    const headers = { authorization: 'Bearer of-the-request', 'x-tenant': 'seven' };
    const provider = await remoteFor([server]).open(named(server, { path, headers }), 'a', never());
    const tools = await provider.list(never());
    expect([tools.length, tools[0], await callOf(provider, 'echo', { text: 'hello' })]).toEqual([
      18,
      {
        name: 'echo',
        server: 'docs',
        parameters: { type: 'object', properties: {} },
        protocol: expect.objectContaining({ era: 'legacy' }),
      },
      { content: 'hello' },
    ]);
    const seen = server.requests.map((request) => [request.headers.authorization, request.headers['x-tenant']]);
    expect(new Set(seen.map(String))).toEqual(new Set(['Bearer of-the-request,seven']));
  });

  it.each([
    ['/mcp', 400, ['POST', 'GET']],
    ['/mcp', 404, ['POST', 'GET']],
    ['/mcp', 405, ['POST', 'GET']],
    ['/mcp', 401, ['POST']],
    ['/mcp', 500, ['POST']],
    ['/sse', 405, ['GET', 'POST']],
    ['/sse/', 404, ['GET', 'POST']],
    ['/sse', 403, ['GET']],
  ])('[B-18] at %s that answers %d is asked by %j', async (path, status, methods) => {
    const site = await startTlsSite((_request, response) => response.writeHead(status).end());
    const error = await failureOf(remoteFor([site]).open(named(site, { path }), 'a', never()));
    const expected = { status: 424, code: 'http_error', type: 'external_connector_error', param: 'tools[2]' };
    expect([error, askedOf(site).map((asked) => asked.split(' ')[0])]).toEqual([
      expect.objectContaining(expected),
      methods,
    ]);
    expect(error.message).toMatch(new RegExp(`^The MCP server 'docs' answered with HTTP ${status} \\(`));
  });

  it('[B-18] behind a redirect to its own origin is asked over the transport that it speaks there', async () => {
    const site = await startTlsSite(({ url }, response) =>
      url === '/mcp' ? response.writeHead(307, { location: '/mcp/' }).end() : response.writeHead(405).end(),
    );
    const error = await failureOf(remoteFor([site]).open(named(site), 'a', never()));
    expect([error, askedOf(site)]).toEqual([
      expect.objectContaining({
        code: 'http_error',
        message: "The MCP server 'docs' answered with HTTP 405 (Method Not Allowed).",
      }),
      ['POST /mcp', 'POST /mcp/', 'GET /mcp', 'GET /mcp/'],
    ]);
  });

  it('[T-09] fails a call that the tool fails, as configured servers do', async () => {
    const server = await startRemote();
    const provider = await remoteFor([server]).open(named(server), 'a', never());
    expect([
      await callOf(provider, 'fail'),
      await failureOf(callOf(provider, 'refuse', { because: 'no' })),
      await failureOf(callOf(provider, 'nothing')),
    ]).toEqual([
      { content: 'It went wrong.', isError: true },
      expect.objectContaining({ name: 'McpCallError', code: -32602, message: 'refused: no' }),
      expect.objectContaining({
        name: 'McpCallError',
        message: `The MCP server '${HOST}:${server.port}' has no tool 'nothing'.`,
      }),
    ]);
  });

  it.each(['/mcp', '/sse'])(
    '[F-28] at %s that wants to know who calls fails the call with its status',
    async (path) => {
      const server = await startRemote();
      const provider = await remoteFor([server]).open(named(server, { path }), 'a', never());
      server.refuseWith = { status: 401, body: 'Who are you?' };
      expect(await failureOf(callOf(provider, 'echo'))).toEqual(
        expect.objectContaining({
          type: 'http_error',
          code: 401,
          message: expect.stringMatching(/^The MCP server '.+' answered with HTTP 401 \(Unauthorized\)\.$/),
        }),
      );
    },
  );

  it('[T-09] that crashes under a call fails that call, and serves the next', async () => {
    const server = await startRemote();
    const provider = await remoteFor([server]).open(named(server), 'a', never());
    const error = await failureOf(callOf(provider, 'crash'));
    expect([error.name, await callOf(provider, 'echo', { text: 'again' })]).toEqual([
      'McpCallError',
      { content: 'again' },
    ]);
  });

  it('[T-09] that is gone fails its calls, is not tried meanwhile, and serves once it is back', async () => {
    useFakeTimers();
    const server = await startRemote({ port: await freePort() });
    const remote = remoteFor([server]);
    const provider = await remote.open(named(server), 'a', never());
    await server.close();
    const calls = [await failureOf(callOf(provider, 'echo')), await failureOf(callOf(provider, 'echo'))];
    const opening = await failureOf(remote.open(named(server), 'a', never()));
    const back = await startRemote({ port: server.port });
    jest.advanceTimersByTime(30_000);
    const tried = back.requests.length;
    expect([calls.map(({ name }) => name), opening, tried, await callOf(provider, 'echo', { text: 'again' })]).toEqual([
      ['McpCallError', 'McpCallError'],
      expect.objectContaining({ ...unavailable, param: 'tools[2].server_url' }),
      0,
      { content: 'again' },
    ]);
  });

  it('[T-09] that forgot its session serves the call in a new one', async () => {
    const server = await startRemote();
    const provider = await remoteFor([server]).open(named(server), 'a', never());
    server.forgetSessions();
    expect([await callOf(provider, 'echo', { text: 'again' }), sessionsOpened(server)]).toEqual([
      { content: 'again' },
      2,
    ]);
  });
});

describeRemote('a connection to a remote server', () => {
  it('[T-09] is shared by requests of one scope with the same URL and headers, whatever they call it', async () => {
    const server = await startRemote();
    const remote = remoteFor([server]);
    const headers = { authorization: 'Bearer key', 'x-one': '1' };
    const turned = { 'x-one': '1', authorization: 'Bearer key' };
    const opened = await Promise.all([
      ...Array.from({ length: 20 }, () => remote.open(named(server, { headers }), 'a', never())),
      remote.open(named(server, { headers: turned, label: 'other', param: 'tools[9]' }), 'a', never()),
    ]);
    const last = await opened.at(-1)?.list(never());
    expect([sessionsOpened(server), last?.[0]?.server, (await opened[0]?.list(never()))?.[0]?.server]).toEqual([
      1,
      'other',
      'docs',
    ]);
  });

  it.each([
    ['scope', {}, 'b'],
    ['header', { headers: { authorization: 'Bearer other' } }, 'a'],
    ['URL', { path: '/mcp?of=another' }, 'a'],
  ])('[T-09] [B-32] is not shared with another %s', async (_name, parts, scope) => {
    const server = await startRemote();
    const remote = remoteFor([server]);
    await remote.open(named(server, { headers: { authorization: 'Bearer key' } }), 'a', never());
    await remote.open(named(server, { headers: { authorization: 'Bearer key' }, ...parts }), scope, never());
    expect([sessionsOpened(server), server.sessions.size]).toEqual([2, 2]);
  });

  it('[T-09] that nobody uses for idleMs is closed to the last socket, and opened again by the next call', async () => {
    useFakeTimers();
    const server = await startRemote();
    const remote = remoteFor([server], { idleMs: 1_000 });
    const provider = await remote.open(named(server), 'a', never());
    jest.advanceTimersByTime(999);
    await provider.list(never());
    jest.advanceTimersByTime(999);
    const kept = server.sessions.size;
    jest.advanceTimersByTime(1);
    await server.allSocketsClosed();
    const closed = server.sessions.size;
    expect([kept, closed, await callOf(provider, 'echo', { text: 'again' })]).toEqual([1, 0, { content: 'again' }]);
  });

  it('[T-09] is not idle while a call is in flight', async () => {
    useFakeTimers();
    const server = await startRemote();
    const provider = await remoteFor([server], { idleMs: 1_000 }).open(named(server), 'a', never());
    const turn = new AbortController();
    const { ended } = await startSlow(provider, server, turn.signal);
    jest.advanceTimersByTime(10_000);
    const busy = server.sessions.size;
    const reason = new Error('enough');
    turn.abort(reason);
    expect([busy, await ended]).toEqual([1, reason]);
    jest.advanceTimersByTime(1_000);
    await server.allSocketsClosed();
  });

  it('[T-09] that fails fails all who wait, each in the terms of its request, and is tried again by the next', async () => {
    const server = await startRemote();
    server.refuseWith = { status: 503, body: 'busy' };
    const remote = remoteFor([server]);
    const failures = await Promise.all([
      failureOf(remote.open(named(server), 'a', never())),
      failureOf(remote.open(named(server, { label: 'other', param: 'tools[0]' }), 'a', never())),
    ]);
    const requested = server.requests.length;
    server.refuseWith = undefined;
    const provider = await remote.open(named(server), 'a', never());
    const reason = 'answered with HTTP 503 (Service Unavailable).';
    const busy = { status: 424, code: 'http_error', param: 'tools[2]' };
    expect([failures, requested, (await provider.list(never())).length]).toEqual([
      [
        expect.objectContaining({ ...busy, message: `The MCP server 'docs' ${reason}` }),
        expect.objectContaining({ ...busy, param: 'tools[0]', message: `The MCP server 'other' ${reason}` }),
      ],
      1,
      18,
    ]);
  });

  it('[T-09] is waited for as long as the signal says, and goes on being opened for others', async () => {
    const server = await startRemote();
    let release = () => {};
    server.events.hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const remote = remoteFor([server]);
    const listed = once(server.events, 'list');
    const turn = new AbortController();
    const waiting = failureOf(remote.open(named(server), 'a', turn.signal));
    const other = remote.open(named(server), 'a', never());
    await listed;
    const reason = new Error('The client has left.');
    turn.abort(reason);
    const left = await waiting;
    release();
    expect([left, (await namesOf(await other)).length, sessionsOpened(server)]).toEqual([reason, 18, 1]);
  });
});

describeRemote('the number of connections', () => {
  const paths = (server: { port: number }) => (n: number) => named(server, { path: `/mcp?n=${n}` });

  it('[T-09] of one scope is bounded: the one unused for longest makes room, and other scopes are left alone', async () => {
    const server = await startRemote();
    const nth = paths(server);
    const remote = remoteFor([server], { maxServersPerScope: 2 });
    await remote.open(nth(0), 'other', never());
    const first = await remote.open(nth(1), 'a', never());
    await remote.open(nth(2), 'a', never());
    await first.list(never());
    const ended = once(server.events, 'request');
    await remote.open(nth(3), 'a', never());
    await ended;
    await until(() => server.sessions.size === 3);
    const before = sessionsOpened(server);
    await first.list(never());
    await remote.open(nth(0), 'other', never());
    const same = sessionsOpened(server) - before;
    await remote.open(nth(2), 'a', never());
    expect([same, sessionsOpened(server) - before]).toEqual([0, 1]);
  });

  it('[T-09] is bounded over all scopes', async () => {
    const server = await startRemote();
    const nth = paths(server);
    const remote = remoteFor([server], { maxServers: 2 });
    for (const n of [1, 2, 3]) await remote.open(nth(n), `scope ${n}`, never());
    await until(() => server.sessions.size === 2);
    const before = sessionsOpened(server);
    for (const n of [3, 2]) await remote.open(nth(n), `scope ${n}`, never());
    expect(sessionsOpened(server) - before).toBe(0);
  });

  it('[T-09] is not exceeded where all are in use: a 429 for the request, an error for the call', async () => {
    const server = await startRemote();
    const nth = paths(server);
    const remote = remoteFor([server], { maxServersPerScope: 2 });
    const first = await remote.open(nth(1), 'a', never());
    const second = await remote.open(nth(2), 'a', never());
    const third = await remote.open(nth(3), 'a', never());
    const turn = new AbortController();
    const slow = [await startSlow(first, server, turn.signal), await startSlow(second, server, turn.signal)];
    const opening = await failureOf(remote.open(nth(4), 'a', never()));
    const calling = await failureOf(callOf(third, 'echo'));
    turn.abort(new Error('enough'));
    await Promise.all(slow.map(({ ended }) => ended));
    const message = 'Too many MCP servers are in use. Try again later.';
    expect([opening, calling, await callOf(third, 'echo', { text: 'now' })]).toEqual([
      expect.objectContaining({ status: 429, code: 'too_many_mcp_servers', type: 'rate_limit_error', message }),
      expect.objectContaining({ name: 'McpCallError', message }),
      { content: 'now' },
    ]);
  });
});

describeRemote('close', () => {
  it.each(['/mcp', '/sse'])(
    '[T-09] at %s fails what is in flight and leaves no socket and no session; afterwards nothing is opened',
    async (path) => {
      const server = await startRemote();
      const remote = remoteFor([server]);
      const provider = await remote.open(named(server, { path }), 'a', never());
      const { ended } = await startSlow(provider, server);
      await Promise.all([remote.close(), remote.close()]);
      await server.allSocketsClosed();
      const requested = server.requests.length;
      expect([await ended, server.sessions.size]).toEqual([expect.objectContaining({ name: 'McpCallError' }), 0]);
      expect([
        await failureOf(remote.open(named(server, { path }), 'a', never())),
        await failureOf(callOf(provider, 'echo')),
        server.requests.length,
      ]).toEqual([
        expect.objectContaining({ status: 503, code: 'server_draining' }),
        expect.objectContaining({ name: 'McpCallError' }),
        requested,
      ]);
    },
  );

  it('[T-09] ends what is being opened', async () => {
    const started = { request: () => {} };
    const requested = new Promise<void>((resolve) => {
      started.request = resolve;
    });
    const silent = await startTlsSite(() => started.request());
    const remote = remoteFor([silent], { connectTimeoutMs: 600_000 });
    const opening = failureOf(remote.open(named(silent), 'a', never()));
    await requested;
    await remote.close();
    expect(await opening).toEqual(expect.objectContaining(unavailable));
  });
});

describe('options of remoteMcp', () => {
  it.each([
    [{ unheardOf: 1 }, "remoteMcp: unknown option 'unheardOf'"],
    [{ idleMs: 0 }, 'remoteMcp: idleMs must be a whole number of milliseconds from 1 to 2147483647, got 0'],
    [{ refreshMs: '1' }, "remoteMcp: refreshMs must be a whole number of milliseconds from 1 to 2147483647, got '1'"],
    [{ connectTimeoutMs: 1e12 }, 'remoteMcp: connectTimeoutMs must be a whole number'],
    [{ maxServers: 0 }, 'remoteMcp: maxServers must be a positive whole number, got 0'],
    [{ maxServersPerScope: 1.5 }, 'remoteMcp: maxServersPerScope must be a positive whole number, got 1.5'],
    [{ logger: true }, 'remoteMcp: logger must be an object with debug, info, warn and error, or false, got true'],
    [{ egress: { ports: [] } }, 'egressGuard: ports must be a list of ports, not empty, got []'],
    [{ egress: 'all' }, "egressGuard: the options must be an object, got 'all'"],
    [{ egressResources: { ca: 1 } }, 'egressGuard: ca must be PEM text or a list of it, got 1'],
    [null, 'remoteMcp: the options must be an object, got null'],
  ])('%j are refused at creation', (options, message) => {
    expect(() => remoteMcp(options as object)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
    );
  });

  it('may be omitted, and undefined counts as omitted', async () => {
    const remote = remoteMcp({
      egress: undefined,
      egressResources: undefined,
      idleMs: undefined,
      logger: undefined,
    });
    closeLater(remote.close);
    await remoteMcp().close();
  });
});
