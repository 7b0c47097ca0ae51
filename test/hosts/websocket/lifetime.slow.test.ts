/** How connections end: clients that leave, that are dead or do not read, the time limit, and shutting down. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { chatChunk, type FakeReply, textStream } from '../../../src/testing/index.ts';
import { HOUR_LONG_DRAIN, HOUR_LONG_LIMITS } from '../../support/patience.ts';
import { finalOf, outcomeOf, type SocketApp, startSocketApp, type Talk, textOf } from './support.ts';

let app: SocketApp;
afterEach(() => app.close());

const SPOKEN: FakeReply = { body: chatChunk({ content: 'word' }), stallAfterBytes: 10_000 };
const ENDLESS: FakeReply = { body: chatChunk({ content: 'x'.repeat(65_536) }), endless: true };

/** Resolves when the first text has come. */
async function untilReceived(talk: Talk): Promise<void> {
  while ((await talk.next()).type !== 'response.output_text.delta');
}

/** The client's side of the TCP connection, stopped from reading. */
function stopReading({ socket }: Talk): void {
  // The cast: ws does not name it in its types.
  (socket as unknown as { readonly _socket: Socket })._socket.pause();
}

/** Connections that the server still has, once the event loop has come round. */
async function connectionsOf({ server }: SocketApp): Promise<number> {
  await new Promise(setImmediate);
  return promisify(server.getConnections.bind(server))();
}

describe('a client that leaves', () => {
  it('[S-15] stops its turns at once, in every lane, and keeps nothing of them', async () => {
    app = await startSocketApp({ limits: HOUR_LONG_LIMITS });
    app.fake.reply(SPOKEN);
    const talk = await app.connect();
    talk.create({ stream_id: 'a' });
    talk.create({ stream_id: 'b' });
    talk.create({ stream_id: 'b' });
    await untilReceived(talk);
    while (app.fake.requests.length < 2) await talk.next();
    talk.socket.terminate();
    await Promise.all([app.fake.closed(0), app.fake.closed(1)]);
    expect([app.fake.requests.length, app.errors]).toEqual([2, []]);
  });

  it('[S-15] before the model’s first word stops its turn too', async () => {
    app = await startSocketApp({ limits: HOUR_LONG_LIMITS });
    app.fake.reply({ hang: true });
    const talk = await app.connect();
    const arrived = app.fake.nextRequest();
    talk.create();
    await arrived;
    talk.socket.close();
    await app.fake.closed(0);
    expect(app.errors).toEqual([]);
  });
});

describe('a client that shows no life', () => {
  it('[S-15] is cut off after two pings, and its turn stopped', async () => {
    // Twice this must be enough for the first word on a busy machine.
    app = await startSocketApp({ pingMs: 2000 });
    app.fake.reply(SPOKEN);
    const talk = await app.connect({ autoPong: false });
    talk.create();
    await untilReceived(talk);
    await app.fake.closed(0);
    expect((await talk.closed).code).toBe(1006);
  });

  it('[S-15] is distinguished from one that answers pings and else sends nothing', async () => {
    // Client and server share a process, which a busy machine may stop for longer than two short pings.
    app = await startSocketApp({ pingMs: 400 });
    const talk = await app.connect();
    for (let count = 0; count < 4; count += 1) await once(talk.socket, 'ping');
    expect(outcomeOf(await talk.ask())).toBe('completed');
  });

  it('[S-15] is distinguished from one that only asks for our signs of life', async () => {
    app = await startSocketApp({ pingMs: 200 });
    const talk = await app.connect({ autoPong: false });
    const asking = setInterval(() => talk.socket.ping('you?'), 20);
    const [first] = await once(talk.socket, 'pong');
    for (let count = 0; count < 3; count += 1) await once(talk.socket, 'ping');
    clearInterval(asking);
    expect([String(first), outcomeOf(await talk.ask())]).toEqual(['you?', 'completed']);
  });
});

describe('a client that does not read', () => {
  /** Resolves with what the model server has been able to write when it writes no more. */
  async function settled(bytes: () => number): Promise<number> {
    for (let quiet = 0, last = -1; quiet < 10; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      quiet = bytes() === last ? quiet + 1 : 0;
      last = bytes();
    }
    return bytes();
  }

  it('[S-15] [P-10] holds the model server back, is not read ahead for, and can read on', async () => {
    app = await startSocketApp({ limits: { model: { outputBytes: Number.POSITIVE_INFINITY } } });
    let written = 0;
    app.fake.reply(ENDLESS);
    app.server.prependListener('upgrade', (_, socket: Socket) => {
      const { write } = socket;
      // The cast: the overloads are passed on as they come.
      socket.write = ((...given: Parameters<typeof write>) => {
        written += (given[0] as Buffer | string).length;
        return write.apply(socket, given);
      }) as typeof write;
    });
    const talk = await app.connect();
    stopReading(talk);
    talk.create();
    const held = await settled(() => written);
    (talk.socket as unknown as { readonly _socket: Socket })._socket.resume();
    while (written < held + 1_000_000) await untilReceived(talk);
    // Some megabytes lie in the sockets of both sides: how many is the kernel's to choose.
    expect([held > 0, held < 16 * 1024 * 1024]).toEqual([true, true]);
  });

  it('[S-15] and sends pings without end is not answered without end', async () => {
    app = await startSocketApp({ limits: { model: { outputBytes: Number.POSITIVE_INFINITY } } });
    app.fake.reply(ENDLESS);
    const upgraded = once(app.server, 'upgrade') as Promise<[unknown, Socket]>;
    const talk = await app.connect();
    const [, socket] = await upgraded;
    stopReading(talk);
    talk.create();
    await settled(() => socket.bytesWritten);
    const [unsent, read] = [socket.writableLength, socket.bytesRead];
    const pings = 20_000;
    for (let count = 0; count < pings; count += 1) talk.socket.ping('x'.repeat(100));
    await settled(() => socket.bytesRead);
    expect([socket.bytesRead - read > pings * 100, socket.writableLength - unsent < pings * 10]).toEqual([true, true]);
  });

  it('[S-15] and sends requests without end is not answered without end', async () => {
    app = await startSocketApp({ maxQueued: 1, limits: { model: { outputBytes: Number.POSITIVE_INFINITY } } });
    app.fake.reply(ENDLESS);
    const talk = await app.connect();
    stopReading(talk);
    talk.create();
    await app.fake.nextRequest();
    const flood = setInterval(() => {
      for (let count = 0; count < 20; count += 1) talk.send('{');
    }, 10);
    await app.fake.closed(0);
    clearInterval(flood);
    expect(app.errors.every((code) => code === 'too_many_streams')).toBe(true);
  });
});

describe('the limit of a connection', () => {
  const limitReached = {
    type: 'error',
    status: 400,
    error: expect.objectContaining({ type: 'invalid_request_error', code: 'websocket_connection_limit_reached' }),
  };

  it('[S-15] closes an idle connection after connectionMs, and reports why', async () => {
    app = await startSocketApp({ connectionMs: 50 });
    const talk = await app.connect();
    const error = await talk.next();
    expect([error, await talk.closed]).toEqual([limitReached, { code: 1001, reason: 'connection limit reached' }]);
  });

  it('[S-15] lets the response that runs end first, and refuses what waits in its turn', async () => {
    app = await startSocketApp({ connectionMs: 200 });
    app.fake.reply({ body: textStream(['Hel', 'lo']), firstByteDelayMs: 400 });
    const talk = await app.connect();
    talk.create();
    talk.create();
    const first = await talk.response();
    const second = await talk.response();
    const last = await talk.next();
    expect([textOf(first), outcomeOf(first), second, last, (await talk.closed).code]).toEqual([
      'Hello',
      'completed',
      [limitReached],
      limitReached,
      1001,
    ]);
  });
});

describe('a WebSocket that drains', () => {
  it('[S-15] closes idle connections with 1001, and leaves the server', async () => {
    app = await startSocketApp();
    const talk = await app.connect();
    await talk.ask();
    await app.attached.drain();
    expect([await talk.closed, app.server.listenerCount('upgrade')]).toEqual([
      { code: 1001, reason: 'shutting down' },
      0,
    ]);
  });

  it('[S-15] lets what runs end, refuses what waits and whoever comes', async () => {
    app = await startSocketApp();
    app.fake.reply({ body: textStream(['Hel', 'lo']), firstByteDelayMs: 200 });
    const talk = await app.connect();
    talk.create();
    talk.create();
    await app.fake.nextRequest();
    const draining = app.attached.drain();
    const refused = await app.refusal();
    const first = await talk.response();
    const second = await talk.response();
    await draining;
    expect([refused.status, textOf(first), outcomeOf(first), outcomeOf(second), await talk.closed]).toEqual([
      503,
      'Hello',
      'completed',
      'server_draining',
      { code: 1001, reason: 'shutting down' },
    ]);
  });

  it('[S-15] fails at the deadline what still runs', async () => {
    app = await startSocketApp();
    app.fake.reply(SPOKEN);
    const talk = await app.connect();
    talk.create();
    await untilReceived(talk);
    await app.attached.drain({ timeoutMs: 100 });
    const rest = await talk.response();
    expect([outcomeOf(rest), finalOf(rest).error, (await talk.closed).code]).toEqual([
      'failed',
      expect.objectContaining({ code: 'server_error', reason: 'server_draining' }),
      1001,
    ]);
  });

  it('[S-15] cuts off a client that does not read', async () => {
    app = await startSocketApp({
      limits: { ...HOUR_LONG_LIMITS, model: { ...HOUR_LONG_LIMITS.model, outputBytes: Number.POSITIVE_INFINITY } },
    });
    app.fake.reply(ENDLESS);
    const talk = await app.connect();
    stopReading(talk);
    talk.create();
    await app.fake.nextRequest();
    await app.attached.close();
    await app.fake.closed(0);
    expect(await connectionsOf(app)).toBe(0);
  });

  it('[S-15] cuts off an idle client that does not answer the close', async () => {
    app = await startSocketApp();
    const talk = await app.connect();
    stopReading(talk);
    await app.attached.drain(HOUR_LONG_DRAIN);
    expect(await connectionsOf(app)).toBe(0);
  });

  it('[S-15] may be called twice, and after close', async () => {
    app = await startSocketApp();
    await Promise.all([app.attached.drain(), app.attached.close()]);
    await app.attached.drain();
    expect(app.server.listenerCount('upgrade')).toBe(0);
  });
});
