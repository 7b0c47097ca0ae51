/** The reference server of the MCP project over every transport. */
import { callTool, childProcesses, closeAll, failureOf, never, openTools, until } from '../../support/mcp-client.ts';
import { type Everything, everything } from '../../support/mcp-everything.ts';

afterEach(closeAll);

describe.each(['stdio', 'streamableHttp', 'sse'])('server-everything over %s', (transport) => {
  let server: Everything;

  beforeEach(async () => {
    server = await everything(transport);
  });

  it('[T-01] lists its tools', async () => {
    const tools = openTools({ everything: server.config });
    const list = await tools.list(never());
    expect(list.find(({ name }) => name === 'get-sum')).toEqual({
      name: 'get-sum',
      server: 'everything',
      description: 'Returns the sum of two numbers',
      parameters: expect.objectContaining({
        type: 'object',
        properties: {
          a: { type: 'number', description: 'First number' },
          b: { type: 'number', description: 'Second number' },
        },
        required: ['a', 'b'],
      }),
      protocol: { era: 'legacy', version: '2025-11-25' },
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    });
    expect(tools.status()).toEqual([
      {
        label: 'everything',
        transport: transport === 'streamableHttp' ? 'streamable-http' : transport,
        protocol: { era: 'legacy', version: '2025-11-25' },
        state: 'ready',
        tools: list.length,
        since: expect.any(Number),
      },
    ]);
  });

  it('[T-08] brings its results: text, images, resources, links, structured content, errors, after progress', async () => {
    const tools = openTools({ e: server.config });
    const resource = await callTool(tools, 'e/get-resource-reference', { resourceType: 'Text', resourceId: 1 });
    const image = await callTool(tools, 'e/get-tiny-image');
    expect([
      await callTool(tools, 'e/get-sum', { a: 2, b: 3 }),
      image,
      resource.content,
      await callTool(tools, 'e/get-resource-links', { count: 1 }),
      await callTool(tools, 'e/get-structured-content', { location: 'Chicago' }),
      await callTool(tools, 'e/get-sum', { a: 'two' }),
      await callTool(tools, 'e/trigger-long-running-operation', { duration: 0.1, steps: 5 }),
    ]).toEqual([
      { content: 'The sum of 2 and 3 is 5.' },
      {
        content: [
          { type: 'input_text', text: "Here's the image you requested:" },
          { type: 'input_image', image_url: expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo/) },
          { type: 'input_text', text: 'The image above is the MCP logo.' },
        ],
      },
      expect.stringMatching(/^Returning .*\n\[resource demo:\/\/resource\/dynamic\/text\/1\]\nResource 1: /),
      {
        content: expect.stringMatching(
          /\n\[resource link Blob Resource 1, text\/plain, demo:\/\/.*, Resource 1: .*\]$/,
        ),
      },
      { content: '{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}' },
      { content: expect.stringContaining('Invalid arguments for tool get-sum'), isError: true },
      { content: 'Long running operation completed. Duration: 0.1 seconds, Steps: 5.' },
    ]);
  });

  it('[T-01] that is killed under a call fails that call; the next one reconnects', async () => {
    const tools = openTools({ e: server.config });
    await callTool(tools, 'e/echo', { message: 'before' });
    const long = failureOf(callTool(tools, 'e/trigger-long-running-operation', { duration: 30, steps: 3 }));
    await callTool(tools, 'e/echo', { message: 'the call is on its way, too' });
    await server.kill();
    const { name } = await long;
    await server.restart();
    expect([name, await callTool(tools, 'e/echo', { message: 'after' })]).toEqual([
      'McpCallError',
      { content: 'Echo: after' },
    ]);
  });

  it('[T-01] leaves no process behind', async () => {
    // Those of the tests before may still be ending.
    const own = 'command' in server.config ? 0 : 1;
    await until(() => childProcesses() === own);
    const tools = openTools({ e: server.config });
    await tools.list(never());
    await tools.close();
    await until(() => childProcesses() === own);
    expect(tools.status()).toMatchObject([{ state: 'closed' }]);
  });
});
