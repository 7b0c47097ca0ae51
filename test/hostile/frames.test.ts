/** Hostile frames of a WebSocket, written by hand on a raw socket, and floods of valid ones: the connection ends, and the process survives. */
import { createHash, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import { textStream } from '../../src/testing/index.ts';
import { outcomeOf, type SocketApp, startSocketApp } from '../hosts/websocket/support.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { tally } from './tally.ts';

const { tried } = tally('frames of WebSockets');

const TEXT = 0x1;
const BINARY = 0x2;
const CONTINUATION = 0x0;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

const CREATE = JSON.stringify({ type: 'response.create', model: 'm', input: 'Hi' });
const BODY_BYTES = 100_000;

let app: SocketApp;
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', note).on('uncaughtExceptionMonitor', note);
  app = await startSocketApp({ limits: { request: { bodyBytes: BODY_BYTES } }, maxLanes: 8, maxQueued: 16 });
});

afterAll(async () => {
  process.off('unhandledRejection', note).off('uncaughtExceptionMonitor', note);
  await app.close();
});

/** After each attack, the next client is served as usual. */
afterEach(async () => {
  const talk = await app.connect();
  expect([outcomeOf(await talk.ask()), uncaught]).toEqual(['completed', []]);
  talk.socket.terminate();
});

interface FrameOptions {
  readonly opcode?: number;
  readonly fin?: boolean;
  readonly masked?: boolean;
  /** The reserved bits, at their place in the first byte. */
  readonly reserved?: number;
  /** Replaces the true length. */
  readonly length?: number | bigint;
}

/** One frame, valid or broken. */
function frame(payload: string | Buffer, options: FrameOptions = {}): Buffer {
  const { opcode = TEXT, fin = true, masked = true, reserved = 0, length } = options;
  const bytes = Buffer.from(payload);
  const first = (fin ? 0x80 : 0) | reserved | opcode;
  const mask = randomBytes(4);
  const body = masked ? Buffer.from(bytes.map((byte, index) => byte ^ (mask[index % 4] ?? 0))) : bytes;
  const head = lengthBytes(BigInt(length ?? bytes.length));
  head[0] = (head[0] ?? 0) | (masked ? 0x80 : 0);
  return Buffer.concat([Buffer.from([first]), head, masked ? mask : Buffer.alloc(0), body]);
}

function lengthBytes(length: bigint): Buffer {
  if (length < 126n) return Buffer.from([Number(length)]);
  const bytes = Buffer.alloc(length < 65_536n ? 3 : 9);
  bytes[0] = bytes.length === 3 ? 126 : 127;
  if (bytes.length === 3) bytes.writeUInt16BE(Number(length), 1);
  else bytes.writeBigUInt64BE(length, 1);
  return bytes;
}

/** A client that can send any bytes. */
interface Raw {
  readonly socket: Socket;
  /** The received texts and close codes. */
  readonly received: () => readonly string[];
  readonly closed: Promise<void>;
}

async function rawClient(headers = ''): Promise<Raw> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  let received = Buffer.alloc(0);
  const key = randomBytes(16).toString('base64');
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  socket.on('error', () => {});
  const head = `GET /v1/responses HTTP/1.1\r\nhost: app\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n`;
  socket.write(`${head}sec-websocket-key: ${key}\r\n${headers}\r\n`);
  await new Promise<void>((resolve) => {
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (received.includes('\r\n\r\n')) resolve();
    });
  });
  const accepted = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  expect(received.toString('latin1')).toContain(`Sec-WebSocket-Accept: ${accepted}`);
  return { socket, received: () => heardIn(received.subarray(received.indexOf('\r\n\r\n') + 4)), closed };
}

/** Reads the server's frames, which are whole and unmasked. */
function heardIn(bytes: Buffer): readonly string[] {
  const received: string[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const opcode = (bytes[at] ?? 0) & 0xf;
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const start = at + (short === 126 ? 4 : short === 127 ? 10 : 2);
    const length =
      short === 126 ? bytes.readUInt16BE(at + 2) : short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short;
    const payload = bytes.subarray(start, start + length);
    received.push(
      opcode === CLOSE ? `closed ${payload.length < 2 ? 1005 : payload.readUInt16BE(0)}` : payload.toString(),
    );
    at = start + length;
  }
  return received;
}

async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late');
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

describe('a frame that breaks the protocol', () => {
  it.each<[string, readonly Buffer[], string]>([
    ['one without a mask', [frame(CREATE, { masked: false })], 'closed 1002'],
    ['reserved bits', [frame(CREATE, { reserved: 0x70 })], 'closed 1002'],
    ['a compressed one, where nothing was agreed', [frame(deflateRawSync(CREATE), { reserved: 0x40 })], 'closed 1002'],
    ['an opcode that is none', [frame(CREATE, { opcode: 0x3 })], 'closed 1002'],
    ['a control opcode that is none', [frame('', { opcode: 0xb })], 'closed 1002'],
    ['a continuation of nothing', [frame(CREATE, { opcode: CONTINUATION })], 'closed 1002'],
    ['a text within a text', [frame('{', { fin: false }), frame(CREATE)], 'closed 1002'],
    ['a ping in pieces', [frame('', { opcode: PING, fin: false })], 'closed 1002'],
    ['a ping of 126 bytes', [frame('x'.repeat(126), { opcode: PING })], 'closed 1002'],
    ['a close of one byte', [frame('x', { opcode: CLOSE })], 'closed 1002'],
    ['a close with a code that is none', [frame(Buffer.from([0x03, 0xed]), { opcode: CLOSE })], 'closed 1002'],
    [
      'a close with a reason that is not UTF-8',
      [frame(Buffer.from([0x03, 0xe8, 0xff]), { opcode: CLOSE })],
      'closed 1007',
    ],
    ['text that is not UTF-8', [frame(Buffer.from([0xc3, 0x28]))], 'closed 1007'],
    ['text that is overlong UTF-8', [frame(Buffer.from([0xc0, 0xaf]))], 'closed 1007'],
    ['text with half a pair', [frame(Buffer.from([0xed, 0xa0, 0x80]))], 'closed 1007'],
    [
      'pieces that are not UTF-8 together',
      [frame(Buffer.from([0xe2]), { fin: false }), frame('x', { opcode: CONTINUATION })],
      'closed 1007',
    ],
    ['one over the limit', [frame('x'.repeat(BODY_BYTES + 1))], 'closed 1009'],
    ['one that says it is over the limit, and never comes', [frame('', { length: 2n ** 31n })], 'closed 1009'],
    ['one of nine exabytes', [frame('', { length: 2n ** 63n - 1n })], 'closed 1009'],
    ['one with the highest bit of its length', [frame('', { length: 2n ** 63n })], 'closed 1009'],
    [
      'pieces that are over the limit together',
      [frame('x'.repeat(60_000), { fin: false }), frame('x'.repeat(60_000), { opcode: CONTINUATION })],
      'closed 1009',
    ],
  ])('closes the connection: %s', async (_, frames, expected) => {
    const { socket, received, closed } = await rawClient();
    for (const each of frames) socket.write(each);
    const isClosed = await within(PATIENCE_MS, closed);
    socket.destroy();
    expect([isClosed, received()]).toEqual([undefined, [expected]]);
    tried('frames that break the protocol');
  });

  it('closes the connection: any bytes at all', async () => {
    for (let round = 0; round < 100; round += 1) {
      const { socket, received, closed } = await rawClient();
      socket.end(randomBytes(200));
      await within(PATIENCE_MS, closed);
      socket.destroy();
      expect(received().every((each) => each.length < 126 || JSON.parse(each).type === 'error')).toBe(true);
    }
    tried('connections of any bytes', 100);
  });
});

describe('frames that keep to the protocol', () => {
  it('may cut a message into single bytes', async () => {
    const { socket, received, closed } = await rawClient();
    const bytes = [...Buffer.from(CREATE)];
    const frames = bytes.map((byte, index) =>
      frame(Buffer.from([byte]), { opcode: index === 0 ? TEXT : CONTINUATION, fin: index === bytes.length - 1 }),
    );
    socket.write(Buffer.concat(frames));
    await until(() => received().some((each) => each.includes('response.completed')));
    socket.destroy();
    await closed;
    tried('frames of one byte', frames.length);
  });

  it('may have a ping between the pieces of a message', async () => {
    const { socket, received, closed } = await rawClient();
    socket.write(frame(CREATE.slice(0, 10), { fin: false }));
    socket.write(frame('here', { opcode: PING }));
    socket.write(frame(CREATE.slice(10), { opcode: CONTINUATION }));
    await until(() => received().some((each) => each.includes('response.completed')));
    expect(received()[0]).toBe('here');
    socket.destroy();
    await closed;
    tried('pings');
  });

  const FLOODS: readonly [string, Buffer][] = [
    ['pings', frame('x'.repeat(125), { opcode: PING })],
    ['pongs that nobody asked for', frame('', { opcode: PONG })],
    ['empty pieces of a message', frame('', { opcode: CONTINUATION, fin: false })],
    ['messages of nothing', frame('')],
    ['binary messages', frame('x', { opcode: BINARY })],
    ['messages of unknown types', frame('{"type":"response.steer"}')],
    ['broken messages', frame('{"type":')],
  ];

  it.each<[string, Buffer]>(FLOODS)(
    'may arrive by the hundred thousand, and are not kept: %s',
    async (what, each) => {
      const { socket, closed } = await rawClient();
      if (what.startsWith('empty')) socket.write(frame('', { fin: false }));
      // Reads nothing: the server's output must not accumulate in its memory.
      socket.pause();
      const thousand = Buffer.concat(Array.from({ length: 1000 }, () => each));
      const before = process.memoryUsage().rss;
      for (let sent = 0; sent < 100 && !socket.destroyed; sent += 1) {
        if (!socket.write(thousand))
          await within(200, new Promise<void>((resolve) => socket.once('drain', () => resolve())));
      }
      const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
      socket.destroy();
      await closed;
      expect(grown).toBeLessThan(300);
      tried(`floods of ${what}`, 100_000);
    },
    60_000,
  );

  it.each<[string, Buffer]>(FLOODS)(
    'may arrive by the thousand, and are read in linear work: %s',
    async (what, each) => {
      await expectLinearWork(8000, async (size) => {
        const { socket, closed } = await rawClient();
        // Nobody puts together what is received.
        socket.removeAllListeners('data').resume();
        if (what.startsWith('empty')) socket.write(frame('', { fin: false }));
        socket.write(Buffer.concat([...Array.from({ length: size }, () => each), frame('', { opcode: CLOSE })]));
        await closed;
      });
      tried(`floods of ${what}`, 2 * 8000);
    },
  );

  it('may request a thousand responses at once, of which only the allowed number run and wait', async () => {
    app.fake.reply(...Array.from({ length: 8 }, () => ({ body: textStream('Hi'), delayMs: 200 })));
    const before = app.fake.requests.length;
    const talk = await app.connect();
    for (let requested = 0; requested < 1000; requested += 1) talk.create({ stream_id: `lane-${requested}` });
    await until(() => talk.received.filter(isEnd).length >= 1000);
    const codes = talk.received.flatMap((message) =>
      'error' in message && message.type === 'error' ? [(message.error as { code: string }).code] : [],
    );
    expect([new Set(codes), codes.length, app.fake.requests.length - before]).toEqual([
      new Set(['too_many_streams']),
      1000 - 8 - 16,
      8 + 16,
    ]);
    talk.socket.terminate();
    tried('responses at once', 1000);
  });

  it('may request a response and leave, again and again', async () => {
    for (let round = 0; round < 100; round += 1) {
      const { socket, closed } = await rawClient();
      socket.write(frame(CREATE));
      socket.resetAndDestroy();
      await closed;
    }
    tried('clients that leave', 100);
  });

  it('cannot negotiate compression, so that no compressed bomb is possible', async () => {
    const { socket, received, closed } = await rawClient(
      'sec-websocket-extensions: permessage-deflate; client_max_window_bits\r\n',
    );
    const bomb = deflateRawSync(Buffer.alloc(50 * 1024 * 1024, 'x'));
    socket.write(frame(bomb, { reserved: 0x40 }));
    await within(PATIENCE_MS, closed);
    socket.destroy();
    expect(received()).toEqual(['closed 1002']);
    tried('packed frames');
  });
});

function isEnd({ type }: { readonly type: string }): boolean {
  return type === 'error' || type === 'response.completed' || type === 'response.failed';
}

async function until(isTrue: () => boolean): Promise<void> {
  for (const began = Date.now(); !isTrue(); ) {
    if (Date.now() - began > PATIENCE_MS) throw new Error('The condition was not met.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
