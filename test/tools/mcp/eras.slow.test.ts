/** Servers of both eras of MCP: those that begin with `initialize`, and those of 2026-07-28. */
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { calls, played, says } from '../../engine/tools/support.ts';
import {
  callTool,
  closeAll,
  expectOneFailure,
  never,
  openTools,
  pidOf,
  startServer,
  states,
  stdioServer,
  toolNames,
  until,
  useFakeTimers,
} from '../../support/mcp-client.ts';
import { modernStdio, startModern } from '../../support/mcp-modern-server.ts';
import { describeWhere } from '../../support/skipping.ts';

afterEach(closeAll);

const MODERN = { era: 'modern', version: '2026-07-28' };
const LEGACY = { era: 'legacy', version: '2025-11-25' };
const NEWER = 'It speaks a newer version of MCP, which needs a package: npm install @modelcontextprotocol/client';
const isOlder = process.env.MCP_SDK === 'v1';
const describeNewest = describeWhere(!isOlder, 'MCP_SDK=v1 takes @modelcontextprotocol/client away');
const describeOlder = describeWhere(isOlder, 'only with MCP_SDK=v1');

describeNewest('a server of 2026-07-28', () => {
  it.each(['stdio', 'HTTP'])('[X-15] over %s lists and runs its tools, and its era is reported', async (transport) => {
    const config = transport === 'stdio' ? modernStdio() : { url: (await startModern()).url };
    const tools = openTools({ a: config });
    expect([
      (await toolNames(tools)).includes('a/echo'),
      await callTool(tools, 'a/echo', { text: 'hello' }),
      await callTool(tools, 'a/fail'),
      tools.status(),
      tools.warnings,
    ]).toEqual([
      true,
      { content: 'hello' },
      { content: 'It went wrong.', isError: true },
      [expect.objectContaining({ state: 'ready', protocol: MODERN })],
      [],
    ]);
  });

  it('[X-15] is reported to the hooks of its calls', async () => {
    const tools = openTools({ a: modernStdio() });
    const { toolCalls } = await played({ tools }, [calls(['c', 'echo', '{"text":"hello"}']), says('Done.')]);
    expect(toolCalls).toMatchObject([
      { name: 'echo', protocol: MODERN, error: undefined },
      { name: 'echo', protocol: MODERN, error: undefined },
      { name: 'echo', protocol: MODERN, error: undefined },
    ]);
  });

  it.each([
    ['stdio', () => modernStdio('--both')],
    ['HTTP', async () => ({ url: (await startModern({ both: true })).url })],
  ])('[X-15] over %s that speaks both eras is spoken to in the newer one', async (_name, config) => {
    const tools = openTools({ a: await config() });
    await tools.list(never());
    expect(tools.status()).toMatchObject([{ protocol: MODERN }]);
  });

  it('[X-15] that begins late is reached all the same', async () => {
    const tools = openTools({ a: modernStdio('--late') }, { connectTimeoutMs: 20_000 });
    expect(await callTool(tools, 'a/echo', { text: 'hello' })).toEqual({ content: 'hello' });
  });

  it.each(['stdio', 'HTTP'])('[X-15] over %s is informed when nobody waits for a call any more', async (transport) => {
    const server = await startModern();
    const tools = openTools({ a: transport === 'stdio' ? modernStdio() : { url: server.url } });
    await tools.list(never());
    const leaving = new AbortController();
    const called = transport === 'HTTP' && once(server.events, 'call:slow');
    const cancelled = transport === 'HTTP' && once(server.events, 'cancelled:slow');
    const call = callTool(tools, 'a/slow', {}, leaving.signal);
    await called;
    leaving.abort(new Error('Nobody waits.'));
    await expect(call).rejects.toThrow('Nobody waits.');
    await cancelled;
    expect([await callTool(tools, 'a/echo', { text: 'next' }), states(tools)]).toEqual([
      { content: 'next' },
      { a: 'ready' },
    ]);
  });

  it('[X-15] reports changes, also after its stream broke', async () => {
    const server = await startModern();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    await until(() => server.streams === 1);
    server.addTool('first');
    await until(async () => (await toolNames(tools)).includes('a/first'));
    server.cut();
    await until(() => server.streams === 0);
    await until(() => server.streams === 1);
    server.addTool('second');
    await until(async () => (await toolNames(tools)).includes('a/second'));
    expect([states(tools), tools.warnings]).toEqual([{ a: 'ready' }, []]);
  });

  it.each(['stdio', 'HTTP'])('[X-15] over %s that breaks under a call fails that call alone', async (transport) => {
    const tools = openTools({ a: transport === 'stdio' ? modernStdio() : { url: (await startModern()).url } });
    await tools.list(never());
    await expectOneFailure(tools, 'a/crash');
  });

  it('[X-15] leaves no stream of changes open when its tools are closed', async () => {
    const server = await startModern();
    const tools = openTools({ a: { url: server.url } });
    await tools.list(never());
    await until(() => server.streams === 1);
    await tools.close();
    await until(() => server.streams === 0);
    const asked = server.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(server.requests.length).toBe(asked);
  });

  it('[X-15] is asked for its era once an hour, not for each connection', async () => {
    useFakeTimers();
    const server = await startServer();
    const tools = openTools({ a: { url: server.url } }, { idleMs: 1_000 });
    const probes = () => server.requests.filter(({ headers }) => headers['mcp-method'] === 'server/discover').length;
    const asked = [];
    for (const pauseMs of [0, 1_001, 3_600_000]) {
      jest.advanceTimersByTime(pauseMs);
      await callTool(tools, 'a/echo', { text: 'x' });
      asked.push(probes());
    }
    expect([asked, tools.status()]).toEqual([[1, 1, 2], [expect.objectContaining({ protocol: LEGACY })]]);
  });

  it('[X-15] is taken for an older one where it does not answer what it does not know', async () => {
    const server = await startServer();
    server.ignoreWhere = ({ headers }) => headers['mcp-method'] === 'server/discover';
    const tools = openTools({ a: { url: server.url } }, { connectTimeoutMs: 4_000 });
    expect([await callTool(tools, 'a/echo', { text: 'hello' }), tools.status()]).toEqual([
      { content: 'hello' },
      [expect.objectContaining({ protocol: LEGACY })],
    ]);
  });

  it('[X-15] is not asked twice for a process that ends when it is asked', async () => {
    const strict = stdioServer('--strict');
    const tools = openTools({ a: strict }, { idleMs: 60_000 });
    expect([(await pidOf(tools)) > 0, tools.status()]).toEqual([true, [expect.objectContaining({ protocol: LEGACY })]]);
  });
});

describeOlder('without @modelcontextprotocol/client', () => {
  it.each(['stdio', 'HTTP'])('[X-15] a server of 2026-07-28 over %s reports what to install', async (transport) => {
    const tools = openTools({ a: transport === 'stdio' ? modernStdio() : { url: (await startModern()).url } });
    await tools.list(never());
    expect([tools.status(), tools.warnings]).toEqual([
      [expect.objectContaining({ state: 'failed', error: NEWER })],
      [`mcpTools: server 'a' is unavailable and is tried again: ${NEWER}`],
    ]);
  });

  it.each([
    ['stdio', () => modernStdio('--both')],
    ['HTTP', async () => ({ url: (await startModern({ both: true })).url })],
  ])('[X-15] a server over %s that speaks both eras is spoken to in the older one', async (_name, config) => {
    const tools = openTools({ a: await config() });
    expect([await callTool(tools, 'a/echo', { text: 'hello' }), tools.status()]).toEqual([
      { content: 'hello' },
      [expect.objectContaining({ protocol: LEGACY })],
    ]);
  });
});
