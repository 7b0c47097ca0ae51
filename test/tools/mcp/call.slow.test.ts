/** Calls of tools: every kind of result, and calls that are given up. */
import { once } from 'node:events';
import {
  callTool,
  closeAll,
  expectOneFailure,
  failureOf,
  never,
  openTools,
  pidOf,
  progressOf,
  serverOver,
  startServer,
  states,
  until,
} from '../../support/mcp-client.ts';
import { LARGE, PIXEL } from '../../support/mcp-tool-set.mjs';

afterEach(closeAll);

describe('a call', () => {
  it.each(['stdio', 'streamable-http', 'json', 'sse'])(
    '[T-08] brings every kind of result over %s',
    async (transport) => {
      const { config } = await serverOver(transport);
      const tools = openTools({ a: config });
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
      const { config } = await serverOver(transport);
      const tools = openTools({ a: config });
      await expectOneFailure(tools, 'a/huge');
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

  it.each(['stdio', 'streamable-http', 'resumable', 'sse'])(
    '[T-05] that is given up over %s is reported to the server, and leaves the connection to the others',
    async (transport) => {
      const { server, config } = await serverOver(transport);
      const tools = openTools({ a: config });
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
