/** A list of tools that changes while a call of one of them is under way. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { callTool, closeAll, closeLater, failureOf, never, openTools } from '../../support/mcp-client.ts';

afterEach(closeAll);

const inputSchema = { type: 'object', properties: {} };

/** A server that lists other tools from its first call on, and answers that call once the client knows them. */
async function startChanging(before: readonly JsonObject[], after: readonly JsonObject[], result: JsonObject) {
  let tools = before;
  const answers: Readonly<Record<string, (params: JsonObject) => JsonObject | Promise<JsonObject>>> = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: 'changing', version: '1' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': called,
    'resources/read': called,
  };

  async function called(): Promise<JsonObject> {
    tools = after;
    // The client asks for the list again.
    await failureOf(callTool(client, 'a/unknown'));
    return result;
  }

  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse((await request.setEncoding('utf8').toArray()).join(''));
    const answer = answers[method];
    if (id === undefined || !answer) return void response.writeHead(id === undefined ? 202 : 400).end();
    sendJson(response, { jsonrpc: '2.0', id, result: await answer(params) });
  }).listen(0, '127.0.0.1');
  closeLater(async () => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const client = openTools({ a: { url } }, { resources: true });
  await client.list(never());
  return client;
}

function sendJson(response: ServerResponse, json: JsonObject): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json));
}

describe('the result of a call during which the list changes', () => {
  const weather = { name: 'weather', inputSchema };

  it('[T-08] is checked against the tool that was called', async () => {
    const changed = { ...weather, outputSchema: { type: 'object', required: ['degrees'] } };
    const tools = await startChanging([weather], [changed], { content: [{ type: 'text', text: 'Sunny.' }] });
    expect(await callTool(tools, 'a/weather')).toEqual({ content: 'Sunny.' });
  });

  it('[X-15] is read as a resource if one was read', async () => {
    const own = { name: 'read_resource', inputSchema };
    const tools = await startChanging([weather], [own], { contents: [{ uri: 'memo://a', text: 'Read me.' }] });
    expect((await callTool(tools, 'a/read_resource', { uri: 'memo://a' })).content).toBe(
      '[resource memo://a]\nRead me.',
    );
  });
});
