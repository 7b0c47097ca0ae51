/** The sockets to an MCP server that all tenants share. */
import { setMaxListeners } from 'node:events';
import { closeAll, never, openTools, serverOver } from '../../support/mcp-client.ts';

afterEach(closeAll);

it.each(['streamable-http', 'sse'])(
  '[G-07] a call of another tenant’s runs over %s while a greedy one’s take as many sockets as they get',
  async (transport) => {
    const { config } = await serverOver(transport);
    const tools = openTools({ a: config });
    const about = { server: 'a', requestId: 'req', request: {} };
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const greedy = Array.from({ length: 300 }, () =>
      tools.call({ ...about, name: 'slow', arguments: {}, scope: 'greedy' }, stop.signal).catch(() => 'ended'),
    );
    const said = await tools.call({ ...about, name: 'echo', arguments: { text: 'hi' }, scope: 'modest' }, never());
    stop.abort(new Error('stopped'));
    expect([said.content, new Set(await Promise.all(greedy))]).toEqual(['hi', new Set(['ended'])]);
  },
);
