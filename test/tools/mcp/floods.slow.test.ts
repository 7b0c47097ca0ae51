/** Servers that ask without end: what is answered to them, and what waits, is bounded. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { closeAll, closeLater, never, openTools } from '../../support/mcp-client.ts';
import { startSite } from '../egress/site.ts';

const PINGS = 20_000;

afterEach(closeAll);

async function bodyOf(request: IncomingMessage): Promise<JsonObject> {
  request.setEncoding('utf8');
  return JSON.parse((await request.toArray()).join(''));
}

const ping = (id: number, method: string) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: `p${id}`, method })}\n\n`;

/** Sends requests of its own before it answers a call, and reads no answers. */
async function startFlood(method: string) {
  let answers = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = await bodyOf(request);
    if (message.result !== undefined || message.error !== undefined) {
      answers += 1;
      return;
    }
    if (message.id === undefined) return void response.writeHead(202).end();
    const result = resultOf(message);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (message.method === 'tools/call')
      response.write(Array.from({ length: PINGS }, (_, id) => ping(id, method)).join(''));
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n\n`);
  };
  const site = await startSite(answer);
  closeLater(site.close);
  return { url: `http://127.0.0.1:${site.port}/mcp`, answers: () => answers };
}

function resultOf({ method, params }: JsonObject): JsonObject {
  const { protocolVersion } = (params ?? {}) as JsonObject;
  if (method === 'initialize')
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'f', version: '1' } };
  return method === 'tools/list' ? { tools: [{ name: 'flood' }] } : { content: [{ type: 'text', text: 'done' }] };
}

it.each(['ping', 'sampling/createMessage'])(
  '[F-05] of %s requests are not all answered, since each answer is a request to the server that waits in memory',
  async (method) => {
    const flood = await startFlood(method);
    const tools = openTools({ a: { url: flood.url, type: 'http' } });
    await tools.list(never());
    const call = { server: 'a', name: 'flood', arguments: {}, scope: 'a', requestId: 'r', request: undefined };
    const { content } = await tools.call(call, never());
    expect([content, flood.answers() <= 128]).toEqual(['done', true]);
  },
);
