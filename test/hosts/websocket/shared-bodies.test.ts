/** Messages that arrive, wait or are not read share the room for bodies, which one tenant cannot fill for the others. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Upstream } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type Gate, gate } from '../../support/gate.ts';
import { endlessModel, takenInAll } from '../../support/unread-client.ts';
import { type SocketApp, startSocketApp } from './support.ts';

const BODIES = 1_000_000;
const limits = { request: { bodiesBytes: BODIES } } as const;

let app: SocketApp;
const sockets: WebSocket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await app.close();
});

async function connect(tenant: string): Promise<WebSocket> {
  const socket = new WebSocket(app.socketUrl, { headers: { authorization: `Bearer ${tenant}` } });
  sockets.push(socket);
  await once(socket, 'open');
  return socket;
}

/** A request of so many bytes. */
function request(bytes: number): string {
  const body = { type: 'response.create', model: 'm', store: false, input: '' };
  return JSON.stringify({ ...body, input: 'x'.repeat(bytes - JSON.stringify(body).length) });
}

/** The next message of that type. */
function next(socket: WebSocket, type: RegExp): Promise<JsonObject> {
  return new Promise((resolve) => {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (type.test(message.type)) resolve(message);
    });
  });
}

/** Resolves once the server has read everything so far. */
async function isRead(socket: WebSocket): Promise<void> {
  const answered = once(socket, 'pong');
  socket.ping();
  await answered;
}

const brief: Upstream = {
  name: 'brief',
  async *stream() {
    yield [
      { type: 'text-delta', text: 'Hello.' },
      { type: 'finish', reason: 'stop' },
    ];
  },
};

it('[G-14] refuses a message for which there is no room while it arrives, and has room for another tenant', async () => {
  app = await startSocketApp({ limits, upstream: brief });
  const [first, second, other] = [await connect('greedy'), await connect('greedy'), await connect('other')];
  first.send(request(0.4 * BODIES).slice(0, 0.35 * BODIES), { fin: false });
  await isRead(first);
  second.send(request(0.4 * BODIES).slice(0, 0.35 * BODIES), { fin: false });
  const closed = once(second, 'close');
  const refused = await next(second, /^error$/);
  const [code] = await closed;
  other.send(request(0.4 * BODIES));
  const { type } = await next(other, /^(error|response\.completed)$/);
  expect([refused, code, type]).toMatchObject([
    { status: 429, error: { code: 'too_many_bodies' } },
    1013,
    'response.completed',
  ]);
});

it('[G-07] messages that wait for their lane, on however many connections, leave room for another tenant’s', async () => {
  const open: Gate = gate();
  const waiting: Upstream = {
    name: 'waiting',
    async *stream() {
      await open.opened;
      yield [
        { type: 'text-delta', text: 'Hello.' },
        { type: 'finish', reason: 'stop' },
      ];
    },
  };
  app = await startSocketApp({ limits, upstream: waiting });
  const refusals: unknown[] = [];
  const queue = async (tenant: string) => {
    const socket = await connect(tenant);
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (message.type === 'error') refusals.push([tenant, message.error.code]);
    });
    socket.send(request(1000));
    socket.send(request(0.4 * BODIES));
    await Promise.race([isRead(socket), once(socket, 'close')]);
  };
  for (const tenant of ['greedy', 'greedy', 'greedy', 'other']) await queue(tenant);
  expect(refusals).toEqual([
    ['greedy', 'too_many_bodies'],
    ['greedy', 'too_many_bodies'],
  ]);
  open.open();
});

it('[G-14] cuts off a client that does not read where others need the room', async () => {
  const model = endlessModel();
  app = await startSocketApp({ limits, upstream: model.upstream });
  const idle = await connect('idle');
  idle.send(request(0.5 * BODIES));
  await next(idle, /^response\.created$/);
  idle.pause();
  await takenInAll(model);
  const closed = once(idle, 'close');
  const other = await connect('other');
  other.send(request(0.6 * BODIES).slice(0, 0.6 * BODIES - 10), { fin: false });
  await isRead(other);
  idle.resume();
  await closed;
  expect(other.readyState).toBe(WebSocket.OPEN);
});
