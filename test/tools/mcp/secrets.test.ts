/** Secrets of the config: they reach the server that they are for, and nobody else. */
import { inspect } from 'node:util';
import { callTool, closeAll, failureOf, never, openTools, startServer, stdioServer } from '../../support/mcp-client.ts';

const SECRET = 'hunter2-hunter2';

afterEach(closeAll);

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
    const reported = await callTool(tools, 'a/headers');
    expect(reported.content).toContain('"x-api-key":"***"');
    const refused = await failureOf(callTool(tools, 'a/refuse', { because: `of ${SECRET} and ${query}` }));
    expect(refused.message).toBe('refused: of *** and ***');
    server.refuseWith = { status: 401, body: `no ${SECRET}, no Bearer ${SECRET}, no ${url}` };
    const failed = await failureOf(callTool(tools, 'a/echo'));
    const retried = openTools({ a: config });
    await retried.list(never());
    expect(retried.status()).toMatchObject([{ error: expect.stringContaining('no ***') }]);
    unseen([reported, refused, failed, tools.status(), tools.warnings, retried.status(), retried.warnings]);
  });

  it('[A-35] [B-32] of a process are given to it, and appear in nothing that comes back; it gets nothing else of ours', async () => {
    process.env.MCP_TEST_HOST = 'of the host alone';
    const config = { ...stdioServer(), env: { API_KEY: SECRET, MODE: 'fast' } };
    const tools = openTools({ a: config, quits: { ...stdioServer('--quit'), env: { TEST_TOKEN: SECRET } } });
    await tools.list(never());
    const reported = await callTool(tools, 'a/environment');
    delete process.env.MCP_TEST_HOST;
    const { API_KEY, MODE, MCP_TEST_HOST } = JSON.parse(String(reported.content));
    expect({ API_KEY, MODE, MCP_TEST_HOST }).toEqual({ API_KEY: '***', MODE: 'fast', MCP_TEST_HOST: undefined });
    const refused = await failureOf(callTool(tools, 'a/refuse', { because: SECRET }));
    unseen([reported, refused, tools.status(), tools.warnings]);
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
