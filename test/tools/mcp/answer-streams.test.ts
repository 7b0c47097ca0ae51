/** Requests over streamable HTTP come to an end, however their streams do; with the SDK's own transport on top. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { answerStreams } from '../../../src/tools/mcp/shared/answer-streams.ts';
import { httpPool } from '../../../src/tools/mcp/shared/http-pool.ts';
import { closeAll, closeLater, until } from '../../support/mcp-client.ts';

afterEach(closeAll);

const FAILED = {
  jsonrpc: '2.0',
  id: 1,
  error: { code: -32000, message: 'The connection broke before the answer came.' },
};
const RESULT = { jsonrpc: '2.0', id: 1, result: { ok: true } };
const REQUEST = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} } as const;

type Answer = (response: ServerResponse) => void;

/** A transport to a server that answers POSTs and resuming GETs so. */
async function connect(post: Answer, resumed: Answer = () => {}) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const from = request.headers['last-event-id'];
    seen.push(from === undefined ? String(request.method) : `${request.method} ${from}`);
    (request.method === 'POST' ? post : resumed)(response);
  }).listen(0, '127.0.0.1');
  closeLater(async () => server.closeAllConnections());
  closeLater(async () => server.close());
  await once(server, 'listening');
  const pool = httpPool(1_000);
  let broken = 0;
  const fetch = answerStreams(pool.fetch, () => {
    broken += 1;
  });
  const requested: string[] = [];
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const transport = new StreamableHTTPClientTransport(url, {
    fetch(address, init) {
      requested.push(String(init?.method));
      return fetch(address, init);
    },
    reconnectionOptions: {
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 2,
    },
  });
  const messages: JSONRPCMessage[] = [];
  transport.onmessage = (message) => void messages.push(message);
  await transport.start();
  closeLater(async () => {
    await transport.close();
    await pool.close();
  });
  return { transport, messages, requested, seen, broken: () => broken };
}

/** Writes an event stream, and leaves it open. */
function events(response: ServerResponse, ...written: readonly string[]): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(written.join('') || ': hello\n\n');
  return response;
}

const event = (data: object, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

describe('a request over streamable HTTP', () => {
  it('is answered by the server', async () => {
    const { transport, messages, broken } = await connect((response) => events(response, event(RESULT)).end());
    await transport.send(REQUEST);
    await until(() => messages.length > 0);
    expect([messages, broken()]).toEqual([[RESULT], 0]);
  });

  it.each([
    ['ends', (response: ServerResponse) => void events(response).end()],
    ['breaks', (response: ServerResponse) => void events(response, 'data: {').socket?.destroySoon()],
  ])('[T-01] fails when its stream %s without an answer', async (_how, post) => {
    const { transport, messages, broken } = await connect(post);
    await transport.send(REQUEST);
    await until(() => messages.length > 0);
    expect([messages, broken()]).toEqual([[FAILED], 1]);
  });

  it.each<[string, object]>([
    ['no result', { jsonrpc: '2.0', id: 1, result: null }],
    ['an error without words', { jsonrpc: '2.0', id: 1, error: { code: 1 } }],
    ['an error without a code', { jsonrpc: '2.0', id: 1, error: { code: 'E', message: 'no' } }],
    ['no version', { id: 1, result: {} }],
    ['an odd id', { jsonrpc: '2.0', id: { toString: 1 }, result: {} }],
  ])('[T-01] fails when its stream ends with an answer that the SDK leaves out: %s', async (_what, answer) => {
    const { transport, messages, broken } = await connect((response) => events(response, event(answer)).end());
    await transport.send(REQUEST);
    await until(() => messages.length > 0);
    expect([messages, broken()]).toEqual([[FAILED], 1]);
  });

  it('is answered by a server that writes its id as text', async () => {
    const answer = { ...RESULT, id: '1' };
    let ended = false;
    const { transport, messages, broken } = await connect((response) => {
      response.once('close', () => {
        ended = true;
      });
      events(response, event(answer)).end();
    });
    await transport.send(REQUEST);
    await until(() => messages.length > 0 && ended);
    expect([messages, broken()]).toEqual([[answer], 0]);
  });

  it('is resumed where the server allows it', async () => {
    const { transport, messages, seen, broken } = await connect(
      (response) => void events(response, 'id: e1\ndata: \n\n').end(),
      (response) => void events(response, event(RESULT, 'e2')).end(),
    );
    await transport.send(REQUEST);
    await until(() => messages.length > 0);
    expect([messages, seen, broken()]).toEqual([[RESULT], ['POST', 'GET e1'], 0]);
  });

  it.each([
    ['is refused', (response: ServerResponse) => void response.writeHead(404).end()],
    ['breaks', (response: ServerResponse) => void response.socket?.destroy()],
  ])('[T-01] fails when resuming %s', async (_how, resumed) => {
    const { transport, messages, seen, broken } = await connect(
      (response) => void events(response, 'id: e1\ndata: \n\n').end(),
      resumed,
    );
    await transport.send(REQUEST);
    await until(() => messages.length > 0);
    expect([messages, seen, broken()]).toEqual([[FAILED], ['POST', 'GET e1'], 1]);
  });

  it('lets go of its stream when it is cancelled, and does not resume it', async () => {
    let stream: ServerResponse | undefined;
    const { transport, messages, requested, seen, broken } = await connect((response) => {
      if (stream) return void response.writeHead(202).end();
      stream = events(response, 'id: e1\ndata: \n\n');
    });
    await transport.send(REQUEST);
    await until(() => stream !== undefined);
    const closed = once(stream as ServerResponse, 'close');
    await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await closed;
    // The SDK tries to resume it, and learns before it reaches the server that there is nothing to resume.
    await until(() => requested.includes('GET'));
    await transport.send({ jsonrpc: '2.0', method: 'notifications/x' });
    expect([messages, seen, broken()]).toEqual([[], ['POST', 'POST', 'POST'], 0]);
  });

  it('lets go of its socket when it is cancelled before the server has sent anything', async () => {
    const responses: ServerResponse[] = [];
    const { transport, seen, broken } = await connect((response) => {
      responses.push(response);
      if (responses.length > 1) response.writeHead(202).end();
    });
    const sent = transport.send(REQUEST);
    await until(() => responses.length === 1);
    const closed = once(responses[0] as ServerResponse, 'close');
    await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await closed;
    await sent;
    expect([seen, broken()]).toEqual([['POST', 'POST'], 0]);
  });

  it('is not resumed once it was answered with an error', async () => {
    const refused = { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'no' } };
    const { transport, messages, requested, seen } = await connect((response) => {
      if (seen.length > 1) return void response.writeHead(202).end();
      events(response, event(refused, 'e1')).end();
    });
    await transport.send(REQUEST);
    await until(() => requested.includes('GET'));
    await transport.send({ jsonrpc: '2.0', method: 'notifications/x' });
    expect([messages, seen]).toEqual([[refused], ['POST', 'POST']]);
  });

  it('fails when its answer is larger than any message may be', async () => {
    const { transport, messages, broken } = await connect((response) => {
      events(response, `data: {"jsonrpc":"2.0","id":1,"result":{"x":"${'x'.repeat(10 * 1024 * 1024)}`);
    });
    await transport.send(REQUEST);
    await until(() => messages.length > 0);
    expect([messages, broken()]).toEqual([[FAILED], 1]);
  });

  it('is not cut off by comments, however many', async () => {
    const comment = `:${'x'.repeat(1024 * 1024)}\n\n`;
    const { transport, messages } = await connect((response) => {
      events(response, ...Array.from({ length: 11 }, () => comment), event(RESULT)).end();
    });
    await transport.send(REQUEST);
    await until(() => messages.length > 0);
    expect(messages).toEqual([RESULT]);
  });

  it('[T-01] does not follow a redirect, which would carry headers to another origin', async () => {
    const { transport, seen } = await connect((response) => {
      response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
    });
    await expect(transport.send(REQUEST)).rejects.toThrow('Redirect to http://127.0.0.1:1/ not followed');
    expect(seen).toEqual(['POST']);
  });
});
