/** `drain()`: new requests are refused, running ones end or are failed at the deadline, and then nothing is left. */

import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { RouterOptions } from '../../src/index.ts';
import {
  chatChunk,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { HOUR_LONG_DRAIN, HOUR_LONG_LIMITS } from '../support/patience.ts';
import { unreadClient } from '../support/unread-client.ts';
import { ask, errorIn, outcomeOf, parsed, parseStream, typesOf } from './client.ts';

let fake: FakeUpstream;
let app: App;

async function start(reply: FakeReply, options: RouterOptions = {}): Promise<void> {
  fake = await startFakeUpstream({ reply });
  app = await startApp({ upstream: fake, options });
}

afterEach(() => Promise.all([app.close(), fake.close()]));

const SPOKEN: FakeReply = { body: chatChunk({ content: 'word' }), stallAfterBytes: 10_000 };
const SHUTTING_DOWN = {
  message: 'This server is shutting down; try again.',
  type: 'server_error',
  param: null,
  code: 'server_draining',
};

/** Asks and resolves once the model server has the request; the answer is on its way. */
async function running(body: object): Promise<{ readonly response: Promise<Response> }> {
  const arrived = fake.nextRequest();
  const response = ask(app.url, { ...body });
  response.catch(() => {});
  await arrived;
  return { response };
}

/** A client that does not read the stream which the model server is now asked for. */
async function startUnreadClient(): Promise<Socket> {
  const arrived = fake.nextRequest();
  const socket = unreadClient(app.url);
  await arrived;
  return socket;
}

/** Resolves when the kernel takes no more of what is written: nothing has moved for a while. */
async function untilStuck(socket: Socket): Promise<void> {
  for (let before = -1; !socket.writableNeedDrain || socket.bytesWritten !== before; ) {
    before = socket.bytesWritten;
    await setTimeout(300);
  }
}

describe('a router that drains', () => {
  it.each([true, false])('refuses new requests with 503 and closes their connection (stream: %s)', async (stream) => {
    await start({ body: textStream('Hi') });
    await app.router.drain();
    const response = await ask(app.url, { stream });
    const seen = [response.status, response.headers.get('connection'), parsed(await response.text())];
    expect([seen, fake.requests]).toEqual([[503, 'close', { error: SHUTTING_DOWN }], []]);
  });

  it.each([true, false])('lets what runs come to its end, and waits for it (stream: %s)', async (stream) => {
    await start({ body: textStream(['Hel', 'lo']), firstByteDelayMs: 200 });
    const { response } = await running({ stream });
    let drained = false;
    const draining = app.router.drain().then(() => {
      drained = true;
    });
    const refused = await ask(app.url);
    const early = drained;
    const outcome = await outcomeOf(app.url, await response);
    await draining;
    expect([refused.status, outcome, early]).toEqual([
      503,
      { status: 200, ending: 'completed', error: null, text: 'Hello', stored: true },
      false,
    ]);
  });

  it('fails at the deadline the streams that still run, ends them, and leaves the model server', async () => {
    await start(SPOKEN);
    const response = await ask(app.url, { stream: true });
    const text = response.text();
    await app.router.drain({ timeoutMs: 200 });
    const stream = parseStream(await text);
    await fake.closed(0);
    expect([typesOf(stream.events).slice(-2), stream.events.at(-2)?.error, stream.done]).toEqual([
      ['error', 'failed'],
      { type: 'server_error', code: 'server_draining', message: SHUTTING_DOWN.message, param: null },
      true,
    ]);
  });

  it.each([true, false])('answers 503 at the deadline where there was no output (stream: %s)', async (stream) => {
    await start({ hang: true });
    const { response } = await running({ stream });
    await app.router.drain({ timeoutMs: 50 });
    const answer = await response;
    const seen = [answer.status, answer.headers.get('connection'), errorIn(parsed(await answer.text()))];
    expect(seen).toEqual([503, 'close', SHUTTING_DOWN]);
  });

  it('answers a JSON request at the deadline with the output so far', async () => {
    await start(SPOKEN);
    const { response } = await running({});
    await app.router.drain({ timeoutMs: 200 });
    expect(await outcomeOf(app.url, await response)).toEqual({
      status: 200,
      ending: 'failed',
      error: 'server_draining',
      text: 'word',
      stored: false,
    });
  });

  it('cuts off a client that does not read', async () => {
    // The kernel may hold tens of megabytes, past which the answer would be too large before it is stuck.
    const limits = { model: { outputBytes: 2 ** 30 } };
    await start({ body: chatChunk({ content: 'x'.repeat(65_536) }), endless: true }, { limits });
    const served = once(app.server, 'connection');
    const client = await startUnreadClient();
    const [socket] = (await served) as [Socket];
    await untilStuck(socket);
    await app.router.drain({ timeoutMs: 100 });
    // The server's side is gone, although the client has read nothing.
    await new Promise(setImmediate);
    const connections = await promisify(app.server.getConnections.bind(app.server))();
    client.destroy();
    expect(connections).toBe(0);
  });

  it('closes idle connections of the server that it is given, and only those', async () => {
    await start({ body: textStream('Hi'), firstByteDelayMs: 300 });
    const agent = new Agent({ keepAlive: true });
    const [idle] = (await once(get(`${app.url}/models`, { agent }), 'response')) as [IncomingMessage];
    const { socket } = idle.resume();
    await once(idle, 'end');
    const { response } = await running({ stream: true });
    const order: string[] = [];
    const closed = once(socket, 'close').then(() => order.push('idle connection closed'));
    const drained = app.router.drain({ server: app.server });
    order.push((await outcomeOf(app.url, await response)).ending);
    await Promise.all([closed, drained]);
    agent.destroy();
    expect(order).toEqual(['idle connection closed', 'completed']);
  });

  it('can be called twice, while it waits and after', async () => {
    await start({ body: textStream('Hi'), firstByteDelayMs: 200 });
    const { response } = await running({});
    await Promise.all([app.router.drain(), app.router.drain()]);
    await app.router.drain(HOUR_LONG_DRAIN);
    expect((await response).status).toBe(200);
  });

  it('has nothing to wait for where nothing runs', async () => {
    await start({ hang: true });
    await app.router.drain(HOUR_LONG_DRAIN);
    expect(fake.requests).toEqual([]);
  });

  it('does not wait for a client that has left', async () => {
    await start({ hang: true }, { limits: HOUR_LONG_LIMITS });
    const client = new AbortController();
    const arrived = fake.nextRequest();
    ask(app.url, {}, { signal: client.signal }).catch(() => {});
    await arrived;
    const drained = app.router.drain(HOUR_LONG_DRAIN);
    client.abort();
    await drained;
    expect(fake.requests.length).toBe(1);
  });

  it('still gives out what is stored, so that a client can fetch what it just made', async () => {
    await start({ body: textStream('Hi') });
    const { id } = parsed(await (await ask(app.url)).text());
    await app.router.drain();
    expect((await fetch(`${app.url}/responses/${id}`)).status).toBe(200);
  });

  it('[X-01] leaves another router alone', async () => {
    await start({ body: textStream('Hi') });
    const other = await startApp({ upstream: fake });
    await app.router.drain();
    const { status } = await ask(other.url);
    await other.close();
    expect(status).toBe(200);
  });
});
