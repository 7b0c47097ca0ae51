/** Credentials of each user for the host's MCP servers. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import express, { type Request } from 'express';
import { chatCompletionsRouter, chatCompletionsUpstream, responsesRouter } from '../../../src/index.ts';
import type { ToolCall } from '../../../src/ports/tool-provider.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import type { McpServerConfig, McpToolsOptions, UnauthorizedInfo } from '../../../src/tools/mcp/index.ts';
import {
  closeAll,
  closeLater,
  failureOf,
  never,
  openTools,
  sessionsOpened,
  startServer,
  stdioServer,
  until,
  useFakeTimers,
} from '../../support/mcp-client.ts';

afterEach(closeAll);

interface User {
  readonly token: string;
}

/** The request of a user, as the router hands it to a provider. */
function requestOf(scope: string, token = `token-of-${scope}`) {
  return { scope, requestId: `req_${scope}`, request: { token } };
}

function open(config: McpServerConfig<User>, options: Omit<McpToolsOptions, 'servers'> = {}) {
  // The cast: requests of these tests are users.
  const tools = openTools({ a: config as McpServerConfig }, options);
  return {
    tools,
    names: async (scope: string) => (await tools.list(never(), requestOf(scope))).map(({ name }) => name),
    call: (scope: string, name: string, more: Partial<ToolCall> = {}) =>
      tools.call({ server: 'a', name, arguments: {}, ...requestOf(scope), ...more }, never()),
  };
}

const bearer = ({ token }: User) => `Bearer ${token}`;

describe('the credentials of a user', () => {
  it('[X-15] go to the server over a connection of the user alone', async () => {
    const server = await startServer();
    const { names, call, tools } = open({ url: server.url, authorization: bearer });
    expect([(await names('one')).length, (await names('two')).length]).toEqual([18, 18]);
    await Promise.all([call('one', 'pid'), call('two', 'pid'), call('one', 'pid')]);
    const bySession = new Map<unknown, Set<unknown>>();
    for (const { headers } of server.requests) {
      const session = headers['mcp-session-id'];
      if (session) bySession.set(session, (bySession.get(session) ?? new Set()).add(headers.authorization));
    }
    expect([...bySession.values()].map((sent) => [...sent])).toEqual([
      ['Bearer token-of-one'],
      ['Bearer token-of-two'],
    ]);
    expect([tools.status(), tools.warnings]).toEqual([
      [expect.objectContaining({ state: 'ready', connections: 2 })],
      [],
    ]);
  });

  it('[X-15] that two tenants share do not share a connection', async () => {
    const server = await startServer();
    const { names } = open({ url: server.url, headers: () => ({ 'X-API-Key': 'the-same-for-both' }) });
    await names('one');
    await names('two');
    await names('one');
    expect(sessionsOpened(server)).toBe(2);
  });

  it('[X-15] may be none', async () => {
    const server = await startServer();
    const { names } = open({ url: server.url, authorization: () => undefined });
    expect([(await names('one')).length, server.requests.some(({ headers }) => headers.authorization)]).toEqual([
      18,
      false,
    ]);
  });

  it('[X-15] are the environment of a process of the user alone', async () => {
    const { call, tools } = open({
      ...stdioServer(),
      env: ({ token }, { scope }) => ({ TEST_TOKEN: token, TEST_USER: scope }),
    });
    const [one, two] = await Promise.all([call('one', 'environment'), call('two', 'environment')]);
    expect([one.content, two.content].map((text) => String(text).match(/"TEST_USER":"(\w+|\*+)"/)?.[1])).toEqual([
      'one',
      'two',
    ]);
    expect(String(one.content)).toContain('"TEST_TOKEN":"***"');
    const pids = await Promise.all([call('one', 'pid'), call('two', 'pid'), call('one', 'pid')]);
    expect([pids[0]?.content === pids[2]?.content, pids[0]?.content === pids[1]?.content]).toEqual([true, false]);
    expect(tools.warnings).toEqual([]);
  });

  it('[X-15] that the server refuses in a session are asked for once more', async () => {
    const server = await startServer();
    const asked: unknown[] = [];
    const tokens = ['first', 'second'];
    const { names, call } = open({
      url: server.url,
      authorization: (_user, { challenge }) => {
        asked.push(challenge?.status);
        return `Bearer ${challenge ? tokens[1] : tokens[0]}`;
      },
    });
    await names('one');
    server.refuseWhere = ({ headers }) => headers.authorization === 'Bearer first';
    expect([await call('one', 'echo', { arguments: { text: 'hello' } }), asked]).toEqual([
      { content: 'hello' },
      [undefined, undefined, 401],
    ]);
    server.refuseWhere = () => true;
    expect([await failureOf(call('one', 'echo')), asked.length]).toEqual([
      expect.objectContaining({ name: 'McpCallError', type: 'http_error', code: 401 }),
      5,
    ]);
  });

  it('[X-15] that are refused from the start are asked for once more, and the tools are left out', async () => {
    const server = await startServer();
    server.refuseWhere = ({ headers }) => headers.authorization !== 'Bearer right';
    let right = false;
    const { names, tools } = open({
      url: server.url,
      authorization: (_user, { challenge }) => `Bearer ${challenge && right ? 'right' : 'wrong-token'}`,
    });
    expect([await names('one'), tools.warnings]).toEqual([
      [],
      ["mcpTools: server 'a' fails for a user: The MCP server 'a' answered with HTTP 401 (Unauthorized)."],
    ]);
    right = true;
    expect((await names('one')).length).toBe(18);
  });

  it.each<[string, McpServerConfig<User>]>([
    ['shared by all', {}],
    ['of a user', { authorization: bearer }],
  ])('[X-15] %s are refused with a challenge that the host receives', async (_name, config) => {
    const server = await startServer();
    const metadata = 'https://mcp.example/.well-known/oauth-protected-resource/mcp';
    const header = `Bearer error="invalid_token", resource_metadata="${metadata}", scope="files:read"`;
    server.refuseWhere = () => true;
    server.challenge = header;
    const reported: UnauthorizedInfo[] = [];
    const { names } = open({ url: server.url, ...config }, { onUnauthorized: (info) => reported.push(info) });
    await names('one');
    expect(reported[0]).toEqual({
      status: 401,
      wwwAuthenticate: header,
      resourceMetadataUrl: metadata,
      server: 'a',
      scope: config.authorization ? 'one' : undefined,
    });
  });

  it('[X-15] are in nothing that comes back', async () => {
    const server = await startServer();
    const { names, call, tools } = open({ url: server.url, authorization: bearer });
    await names('one');
    const shown = await call('one', 'headers');
    const refused = await failureOf(call('one', 'refuse', { arguments: { because: 'of token-of-one' } }));
    server.refuseWhere = () => true;
    const failed = await failureOf(call('one', 'echo'));
    const all = JSON.stringify([
      shown,
      refused.message,
      refused,
      failed.message,
      failed,
      tools.status(),
      tools.warnings,
    ]);
    expect([all.includes('***'), all.includes('token-of-one')]).toEqual([true, false]);
  });

  it('[X-15] that the host has not got cost only this server its tools, and a call its result', async () => {
    const server = await startServer();
    const throwing = () => {
      throw new Error('Nobody is logged in.');
    };
    const tools = openTools({ a: { url: server.url, authorization: throwing }, b: { url: server.url } });
    const listed = await tools.list(never(), requestOf('one'));
    const call = { server: 'a', name: 'echo', arguments: {}, ...requestOf('one') };
    expect([
      new Set(listed.map((tool) => tool.server)),
      tools.warnings,
      await failureOf(tools.call(call, never())),
    ]).toEqual([
      new Set(['b']),
      ["mcpTools: server 'a' fails for a user: no credentials: Nobody is logged in."],
      expect.objectContaining({ message: "There are no credentials for the MCP server 'a'." }),
    ]);
  });

  it.each<[string, McpServerConfig, string]>([
    ['headers that are no object', { headers: () => 'x' as never }, 'headers must return an object of strings'],
    [
      'a header that is no text',
      { headers: () => ({ 'x-a': 7 }) as never },
      'headers must return an object of strings',
    ],
    [
      'a header of two lines',
      { headers: () => ({ 'x-a': 'secret\nx-b: c' }) },
      "header 'x-a' is not one that HTTP can carry",
    ],
    ['an authorization that is no text', { authorization: () => 7 as never }, 'authorization must return a string'],
    ['no OAuth provider', { authProvider: () => ({}) as never }, 'authProvider must be an OAuthClientProvider'],
  ])('[X-15] that are %s are none', async (_name, config, message) => {
    const tools = openTools({ a: { url: 'http://127.0.0.1:1', ...config } });
    expect([await tools.list(never(), requestOf('one')), tools.warnings]).toEqual([
      [],
      [`mcpTools: server 'a' fails for a user: no credentials: ${message}`],
    ]);
  });

  it.each<[string, McpServerConfig, string]>([
    [
      'headers for a process',
      { ...stdioServer(), headers: () => ({}) },
      "mcpTools: server 'a': headers has no meaning for a server on stdio",
    ],
    [
      'an environment for a url',
      { url: 'http://a.example', env: () => ({}) },
      "mcpTools: server 'a': env has no meaning for a server with a url",
    ],
    [
      'no OAuth provider',
      { url: 'http://a.example', authProvider: {} as never },
      "mcpTools: server 'a': authProvider must be an OAuthClientProvider",
    ],
  ])('[X-15] refuse %s at once', (_name, config, message) => {
    expect(() => openTools({ a: config })).toThrow(new TypeError(message));
  });

  it('[X-15] that never come cost only this server its tools', async () => {
    const server = await startServer();
    const config = { url: server.url, authorization: () => new Promise<never>(() => {}) };
    const tools = openTools({ a: config, b: { url: server.url } }, { connectTimeoutMs: 1_500 });
    const listed = await tools.list(never(), requestOf('one'));
    expect([new Set(listed.map((tool) => tool.server)), tools.warnings]).toEqual([
      new Set(['b']),
      ["mcpTools: server 'a' fails for a user: no credentials: they were not given within 1500 ms"],
    ]);
  });

  it('[X-15] are asked for with whose they are, and nothing of the call', async () => {
    const server = await startServer();
    const contexts: unknown[] = [];
    const { call } = open({
      url: server.url,
      authorization(_user, context) {
        contexts.push(context);
        return undefined;
      },
    });
    await call('one', 'echo', { arguments: { text: 'private' } });
    expect(contexts).toEqual([{ scope: 'one', requestId: 'req_one' }]);
  });

  it('[X-15] that are wrong are not tried again until somebody asks', async () => {
    useFakeTimers();
    const server = await startServer();
    server.refuseWhere = () => true;
    const { names } = open({ url: server.url, authorization: bearer });
    await names('one');
    const { length } = server.requests;
    jest.advanceTimersByTime(4_000);
    await names('one');
    expect(server.requests.length).toBe(length);
    jest.advanceTimersByTime(5_001);
    await names('one');
    expect(server.requests.length).toBeGreaterThan(length);
  });

  it('[X-15] whose connection was closed as nobody used it leave the server idle', async () => {
    useFakeTimers();
    const server = await startServer();
    const { names, tools } = open({ url: server.url, authorization: bearer }, { idleMs: 1_000 });
    await names('one');
    jest.advanceTimersByTime(1_001);
    await until(() => server.sessions.size === 0);
    expect(tools.status()).toMatchObject([{ state: 'idle', connections: 0 }]);
  });

  it.each([401, 403])('[X-15] that the server refuses with %s leave it ready for others', async (status) => {
    const server = await startServer();
    server.refuseWhere = ({ headers }) => headers.authorization !== 'Bearer token-of-ada';
    server.refusal = status;
    const { names, call, tools } = open({ url: server.url, authorization: bearer });
    const state = () => tools.status()[0]?.state;
    const seen: unknown[] = [];
    for (const scope of ['eve', 'ada', 'bob', 'ada']) seen.push((await names(scope)).length, state());
    await failureOf(call('eve', 'echo'));
    seen.push(state());
    await call('ada', 'echo');
    expect([...seen, tools.status()]).toEqual([
      ...[0, 'idle', 18, 'ready', 0, 'ready', 18, 'ready', 'ready'],
      [expect.objectContaining({ state: 'ready', tools: 18, connections: 3 })],
    ]);
  });

  it('[X-15] that are refused are told of in the status of a server that serves nobody else', async () => {
    const server = await startServer();
    server.refuseWhere = () => true;
    const { names, tools } = open({ url: server.url, authorization: bearer });
    await names('one');
    await names('two');
    const error = expect.stringContaining('401');
    expect(tools.status()).toMatchObject([{ state: 'idle', tools: 0, connections: 2, error }]);
  });

  it('[X-15] show a server as failed that cannot be reached, until it can', async () => {
    const server = await startServer();
    server.refuseWhere = () => true;
    server.refusal = 503;
    const { names, tools } = open({ url: server.url, authorization: bearer });
    await names('one');
    const failed = tools.status()[0];
    server.refuseWhere = () => false;
    await names('two');
    expect([failed?.state, tools.status()[0]?.state]).toEqual(['failed', 'ready']);
  });

  it('[X-15] have a bounded number of connections, and the oldest unused one goes first', async () => {
    const server = await startServer();
    const { names, call, tools } = open({ url: server.url, authorization: bearer }, { maxConnections: 2 });
    await names('one');
    await names('two');
    await names('three');
    await until(() => server.sessions.size === 2);
    expect(tools.status()).toMatchObject([{ connections: 2 }]);
    const slow = [call('two', 'slow'), call('three', 'slow')].map((each) => failureOf(each));
    await until(() => server.requests.length > 0 && tools.status()[0]?.connections === 2);
    expect([await names('four'), tools.warnings]).toEqual([
      [],
      ["mcpTools: server 'a' fails for a user: Too many MCP servers are in use. Try again later."],
    ]);
    await tools.close();
    expect((await Promise.all(slow)).map(({ name }) => name)).toEqual(['McpCallError', 'McpCallError']);
    await server.allSocketsClosed();
  });
});

describe('a request to a router', () => {
  it.each(['responses', 'chat/completions'])('[X-15] for %s brings its user to the server', async (path) => {
    const server = await startServer();
    const tools = openTools({
      a: { url: server.url, headers: (request) => ({ 'x-user': String((request as Request).get('x-user')) }) },
    });
    const body = toolCallStream([{ id: 'call_1', name: 'echo', arguments: '{"text":"hello"}' }]);
    const upstream = await startFakeUpstream({
      reply: () => ({ body: upstream.requests.length < 2 ? body : textStream('Fine.') }),
    });
    closeLater(upstream.close);
    const options = { upstream: chatCompletionsUpstream({ baseURL: upstream.baseURL }), tools };
    const app = express().use('/v1', responsesRouter(options), chatCompletionsRouter(options)).listen(0, '127.0.0.1');
    closeLater(async () => void app.close().closeAllConnections());
    await once(app, 'listening');
    // The cast: a server that listens on TCP has an address, and it is no pipe's name.
    const { port } = app.address() as AddressInfo;
    const asked = { model: 'm', input: 'Hi', messages: [{ role: 'user', content: 'Hi' }], stream: true };
    const headers = { 'content-type': 'application/json', 'x-user': 'the-first-user' };
    const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(asked),
    });
    expect(await response.text()).toContain('Fine.');
    expect(new Set(server.requests.map(({ headers: sent }) => sent['x-user']))).toEqual(new Set(['the-first-user']));
  });
});
