/** The resources of MCP servers, as tools. */
import { callTool, closeAll, failureOf, openTools, startServer, toolNames } from '../../support/mcp-client.ts';
import { startModern } from '../../support/mcp-modern-server.ts';
import { PIXEL } from '../../support/mcp-tool-set.mjs';
import { describeWhere } from '../../support/skipping.ts';

afterEach(closeAll);

describe('the resources of a server', () => {
  it('[X-15] are not offered unless the host allows it', async () => {
    const { url } = await startServer();
    const plain = openTools({ a: { url } });
    const without = openTools({ a: { url, exclude: ['*_resource*'] } }, { resources: true });
    const offered = openTools({ a: { url } }, { resources: true });
    const counts = [];
    for (const tools of [plain, without, offered])
      counts.push((await toolNames(tools)).filter((name) => name.includes('resource')));
    expect(counts).toEqual([[], [], ['a/list_resources', 'a/read_resource']]);
  });

  it('[X-15] are listed a page at a time, and read as results of tools are', async () => {
    const tools = openTools({ a: { url: (await startServer()).url } }, { resources: true });
    const page = JSON.parse(String((await callTool(tools, 'a/list_resources')).content));
    expect([page, await callTool(tools, 'a/list_resources', { cursor: page.nextCursor })]).toEqual([
      { resources: [{ uri: 'memo://readme', name: 'readme', description: 'What to read.' }], nextCursor: 'rest' },
      { content: '{"resources":[{"uri":"memo://pixel","name":"pixel","mimeType":"image/png"}]}' },
    ]);
    expect([
      await callTool(tools, 'a/read_resource', { uri: 'memo://readme' }),
      await callTool(tools, 'a/read_resource', { uri: 'memo://pixel' }),
      await failureOf(callTool(tools, 'a/read_resource', { uri: 'memo://none' })),
    ]).toEqual([
      { content: '[resource memo://readme]\nRead me.' },
      { content: [{ type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` }] },
      expect.objectContaining({ name: 'McpCallError', code: -32002, message: 'Resource not found' }),
    ]);
  });
});

describeWhere(process.env.MCP_SDK !== 'v1', 'MCP_SDK=v1 takes @modelcontextprotocol/client away')(
  'the resources of a server of 2026-07-28',
  () => {
    it('[X-15] are read, too', async () => {
      const tools = openTools({ a: { url: (await startModern()).url } }, { resources: true });
      expect(await callTool(tools, 'a/read_resource', { uri: 'memo://readme' })).toEqual({
        content: '[resource memo://readme]\nRead me.',
      });
    });
  },
);
