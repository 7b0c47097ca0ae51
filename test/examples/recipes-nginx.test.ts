/** The recipe for nginx, run by a real one where there is one; what the app itself asks of it, everywhere. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { chatCompletionsUpstream, memoryStore, responsesRouter } from 'express-open-responses';
import { type FakeUpstream, startFakeUpstream, textStream } from 'express-open-responses/testing';
import { hasNginx, NGINX, type Nginx, startNginx } from '../support/nginx.ts';
import { describeWhere } from '../support/skipping.ts';
import { answerOf, post, untilReceived } from './recipe.ts';
import { readProject } from './support.ts';

const STREAM = textStream(['Well', ' then']);
const FIRST_WORD = { body: STREAM, stallAfterBytes: STREAM.indexOf(' then') };

let fake: FakeUpstream;
let app: Awaited<ReturnType<typeof serving>>;

beforeEach(async () => {
  fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
  // Not so often that heartbeats would fill nginx's buffers.
  const heartbeat = { intervalMs: 300 };
  app = await serving(express().use('/v1', responsesRouter({ upstream, store: memoryStore(), heartbeat })));
});
afterEach(async () => {
  await app.close();
  await fake.close();
});

async function serving(listener: Parameters<typeof createServer>[1] & object) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await once(server, 'listening');
  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  // The cast: a server that listens on TCP has an address, and it is no pipe's name.
  return { port: (server.address() as AddressInfo).port, connections: () => connections, close };
}

function streamed(port: number): Promise<Response> {
  return post(`http://127.0.0.1:${port}/v1/responses`, { model: 'm', input: 'Hi.', stream: true });
}

describe('a stream of the app', () => {
  it('[X-01] asks proxies not to hold it back, to change it or to keep it', async () => {
    const answer = await streamed(app.port);
    await answer.text();
    const named = ['content-type', 'cache-control', 'x-accel-buffering'].map((name) => answer.headers.get(name));
    expect(named).toEqual(['text/event-stream', 'no-cache, no-transform', 'no']);
  });
});

const describeNginx = describeWhere(hasNginx, `there is no ${NGINX} on this machine`);

describeNginx('the recipe for nginx', () => {
  let nginx: Nginx;
  let port: number;

  beforeEach(async () => {
    nginx = await startNginx(recipeAt);
    port = nginx.port;
  });
  afterEach(() => nginx.close());

  /** The recipe, on ports of this test. */
  function recipeAt(listen: number): string {
    const recipe = readProject('examples/recipes/nginx.conf')
      .replace('127.0.0.1:3000', `127.0.0.1:${app.port}`)
      .replace('listen 8080', `listen 127.0.0.1:${listen}`);
    // What the app asks for must not hide what the recipe lacks.
    return `proxy_ignore_headers X-Accel-Buffering; ${recipe}`;
  }

  it('[X-01] [P-15] lets words and heartbeats through while the model is still at it', async () => {
    fake.reply(FIRST_WORD);
    const answer = await streamed(port);
    const received = await untilReceived(answer, ': heartbeat\n\n');
    expect([received.includes('"delta":"Well"'), received.includes('response.completed')]).toEqual([true, false]);
  });

  it('[P-10] informs the app that the client has left', async () => {
    fake.reply(FIRST_WORD);
    const answer = await streamed(port);
    // Reading no further closes the connection.
    await untilReceived(answer, '"delta":"Well"');
    expect(await fake.closed(0)).toEqual(expect.any(Number));
  });

  it('[P-11] takes prompts of more than a megabyte', async () => {
    const url = `http://127.0.0.1:${port}/v1/responses`;
    const { status } = await answerOf(post(url, { model: 'm', input: 'word '.repeat(500_000) }));
    expect(status).toBe(200);
  });

  it('[X-01] keeps its connection to the app, and names requests for both logs', async () => {
    const url = `http://127.0.0.1:${port}/v1/responses`;
    const ids = [];
    for (const input of ['One.', 'Two.']) {
      const answer = await post(url, { model: 'm', input });
      await answer.text();
      ids.push(answer.headers.get('x-request-id'));
    }
    const passed = fake.requests.map(({ headers }) => headers['x-request-id']);
    expect([app.connections(), ids, passed]).toEqual([
      1,
      [expect.stringMatching(/^[\da-f]{32}$/), expect.stringMatching(/^[\da-f]{32}$/)],
      ids,
    ]);
  });
});
