/** Clients of both SDKs and both eras of MCP use the host's tools. */
import express from 'express';
import { chatCompletionsUpstream, functionTools, openResponses } from '../../../src/index.ts';
import { mcpApi, mcpRouter } from '../../../src/mcp.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { CLIENTS, closeAll, closeLater, connect, startMcp } from './mcp-app.ts';

afterEach(closeAll);

describe.each(CLIENTS)('%s', (kind) => {
  it('[E-16] lists the tools with their schemas, and calls them', async () => {
    const { url } = await startMcp();
    const client = await connect(kind, url);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['echo', 'fail', 'hang', 'flood', 'picture', 'steps']);
    expect(tools[0]).toMatchObject({
      description: 'Says it again.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    });
    expect(await client.callTool({ name: 'echo', arguments: { text: 'Grüße' } })).toMatchObject({
      content: [{ type: 'text', text: 'Grüße' }],
    });
  });

  it('[E-16] receives texts, images and files', async () => {
    const { url } = await startMcp();
    const client = await connect(kind, url);
    const { content } = await client.callTool({ name: 'picture' });
    expect(content).toEqual([
      { type: 'text', text: 'A dot.' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///a%20b.pdf', blob: 'BBBB', mimeType: 'application/pdf' } },
    ]);
  });

  it('[E-16] is told what went wrong: a tool that throws, wrong arguments, too large a result', async () => {
    const { url } = await startMcp();
    const client = await connect(kind, url);
    const texts = [];
    for (const [name, args] of Object.entries({ fail: {}, echo: { text: 1 }, flood: {} })) {
      const { isError, content } = await client.callTool({ name, arguments: args });
      texts.push([isError, JSON.stringify(content)]);
    }
    expect(texts).toEqual([
      [true, expect.stringContaining('It went wrong.')],
      [true, expect.stringContaining('input_validation_error')],
      [true, expect.stringContaining('2000000 bytes, more than the 1048576')],
    ]);
  });

  it('[E-16] [F-04] does not stop the process with arguments that the pattern of a schema takes for ever with', async () => {
    const parameters = {
      type: 'object',
      properties: { email: { type: 'string', pattern: '^([a-zA-Z0-9]+\\.?)+@x$' } },
    };
    const { url } = await startMcp({ tools: functionTools({ look: { parameters, execute: () => 'Ran.' } }) });
    const client = await connect(kind, url);
    const texts = [];
    for (const email of ['a'.repeat(60), 'ada@x'])
      texts.push(JSON.stringify((await client.callTool({ name: 'look', arguments: { email } })).content));
    expect(texts).toEqual([
      expect.stringContaining('input_validation_error: the value could not be checked in time'),
      expect.stringContaining('Ran.'),
    ]);
  });

  it('[E-16] is refused a tool that is not there', async () => {
    const { url } = await startMcp();
    const client = await connect(kind, url);
    await expect(client.callTool({ name: 'rm' })).rejects.toThrow("There is no tool 'rm'");
  });

  it('[E-16] is told when a tool hangs', async () => {
    const { url } = await startMcp({ limits: { tools: { timeoutMs: 50 } } });
    const client = await connect(kind, url);
    const { isError, content } = await client.callTool({ name: 'hang' });
    expect([isError, content]).toEqual([true, [{ type: 'text', text: 'The tool did not answer within 50 ms.' }]]);
  });

  it('[E-16] sees the tools of the tenant, whom the host names', async () => {
    const one = (server: string) => functionTools({ [server]: { execute: () => server } }, { server });
    const { url } = await startMcp({
      scope: ({ headers }) => String(headers['x-user']),
      tools: ({ headers }) => [one(String(headers['x-user']))],
    });
    const names = [];
    for (const user of ['ada', 'bob']) {
      const { tools } = await (await connect(kind, url, { headers: { 'x-user': user } })).listTools();
      names.push(tools.map(({ name }) => name));
    }
    expect(names).toEqual([['ada'], ['bob']]);
  });

  it('[E-16] finds them beside the other APIs, with nothing said twice', async () => {
    const model = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key' });
    const tools = functionTools({ hello: { execute: () => 'hello' } });
    const api = openResponses({ upstream, tools, logger: false, apis: [mcpApi()] });
    const server = await listening(express().use('/v1', api.router));
    closeLater(async () => {
      await api.close({ server: server.server });
      await model.close();
    });
    const client = await connect(kind, new URL(`${server.url}/v1/mcp`));
    closeLater(() => server.server.closeAllConnections());
    expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ type: 'text', text: 'hello' }] });
  });
});

it('[E-16] a host without tools is told so', () => {
  expect(() => mcpRouter({})).toThrow('mcpRouter: tools is missing');
});
