/** The progress that MCP servers report of their calls. */
import type { ToolProgress } from '../../../src/ports/tool-provider.ts';
import { closeAll, never, openTools, startServer, stdioServer } from '../../support/mcp-client.ts';
import { startModern } from '../../support/mcp-modern-server.ts';
import { describeWhere } from '../../support/skipping.ts';

afterEach(closeAll);

const SECRET = 'a-secret-of-the-config';

async function toldBy(config: Parameters<typeof openTools>[0][string]): Promise<readonly ToolProgress[]> {
  const tools = openTools({ a: config });
  const reported: ToolProgress[] = [];
  const args = { steps: 3, message: `with ${SECRET}` };
  const about = { server: 'a', name: 'steps', arguments: args, scope: 'x', requestId: 'req', request: {} };
  const result = await tools.call({ ...about, onProgress: (progress) => reported.push(progress) }, never());
  expect(result).toEqual({ content: '3 steps' });
  return reported;
}

const ALL = [1, 2, 3].map((progress) => ({ progress, total: 3, message: 'with ***' }));

describe('the progress of a call', () => {
  it('[X-15] is reported over stdio, without secrets', async () => {
    expect(await toldBy({ ...stdioServer(), env: { TEST_TOKEN: SECRET } })).toEqual(ALL);
  });

  it.each(['streamable-http', 'sse'])('[X-15] is reported over %s, without secrets', async (type) => {
    const server = await startServer();
    const url = type === 'sse' ? server.sseUrl : server.url;
    expect(await toldBy({ url, type, headers: { 'x-api-key': SECRET } })).toEqual(ALL);
  });
});

describeWhere(process.env.MCP_SDK !== 'v1', 'MCP_SDK=v1 takes @modelcontextprotocol/client away')(
  'the progress of a call to a server of 2026-07-28',
  () => {
    it('[X-15] is reported', async () => {
      const { url } = await startModern();
      expect(await toldBy({ url, headers: { 'x-api-key': SECRET } })).toEqual(ALL);
    });
  },
);
