/** Messages and frames of WebSockets. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { law } from '../../support/law.ts';
import { BODIES } from '../bodies.ts';
import { type ByteText, editedBytes } from '../byte-edits.ts';
import { bytesOf } from '../client.ts';
import { editedJson, type Json } from '../json-edits.ts';
import type { Target } from '../target.ts';
import type { World } from '../world.ts';
import { named } from './requests.ts';

const CREATE = (BODIES['/responses'] ?? [])
  .slice(2, 8)
  .map((body) => ({ type: 'response.create', ...(body as object) }) as Json);
const OTHERS: readonly Json[] = [
  { type: 'response.cancel', response_id: '{v1.background}' },
  { type: 'response.steer', stream_id: 'a', input: 'Hi' },
  { type: 'response.create', stream_id: 'a', model: 'm', input: 'Hi', generate: false },
];
const LAST = JSON.stringify({ type: 'response.create', stream_id: 'the-last', model: 'm', input: 'Hi', store: false });

/** After any messages, the connection serves a good request, or has been closed with a code that says why. */
const messages: Target<readonly Json[]> = {
  name: 'messages of WebSockets',
  weight: 6,
  inputs: fc.array(editedJson([...CREATE, ...OTHERS]), { minLength: 1, maxLength: 3 }),
  async run(sent, world) {
    world.model.answers();
    const socket = new WebSocket(`${world.origin.replace('http', 'ws')}/v1/responses`);
    const received: string[] = [];
    const ended = new Promise<void>((resolve, reject) => {
      socket.on('message', (data) => {
        received.push(String(data));
        if (/"stream_id":"the-last"/.test(String(data)) && isEnd(String(data))) resolve();
      });
      socket.once('close', (code) => (code === 1006 ? reject(new Error('The connection broke.')) : resolve()));
      socket.once('error', reject);
    });
    ended.catch(() => {});
    await once(socket, 'open');
    for (const message of sent) socket.send(named(JSON.stringify(message), world));
    socket.send(LAST);
    await ended;
    socket.terminate();
    for (const each of received) expectMessage(JSON.parse(each));
  },
};

function isEnd(message: string): boolean {
  return /^\{"type":"(error|response\.(completed|incomplete|failed))"/.test(message);
}

function expectMessage(message: {
  readonly type?: unknown;
  readonly error?: { readonly message?: unknown };
  readonly status?: unknown;
}) {
  law(typeof message.type === 'string', 'a message has a type', message);
  if (message.type !== 'error') return;
  law(typeof message.error?.message === 'string', 'an error has a message', message);
  law(
    message.status === undefined || Number(message.status) !== 500,
    'an error is not the fault of the server',
    message,
  );
}

const FRAMES: readonly ByteText[] = [
  ...[LAST, '{"type":"response.create"}', 'x'].map((text) => frame(0x81, Buffer.from(text))),
  ...[frame(0x89, Buffer.from('ping')), frame(0x88, Buffer.from([0x03, 0xe8])), frame(0x82, Buffer.from('x'))],
  frame(0x01, Buffer.from(LAST.slice(0, 9))) + frame(0x80, Buffer.from(LAST.slice(9))),
];

function frame(first: number, body: Buffer): ByteText {
  const length = body.length < 126 ? [body.length | 0x80] : [0xfe, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), body]).toString('latin1');
}

const HEAD = [
  'GET /v1/responses HTTP/1.1',
  'host: app',
  'connection: upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
];

/** Whatever the bytes: the server closes what it cannot read, and says nothing that is no frame. */
const frames: Target<ByteText> = {
  name: 'frames of WebSockets',
  weight: 4,
  inputs: editedBytes(FRAMES),
  async run(body, world) {
    world.model.answers();
    const received = await afterUpgrade(world, bytesOf(body));
    for (let at = 0; at < received.length; at += frameBytes(received, at)) {
      law(at + frameBytes(received, at) <= received.length, 'a frame is whole', received.subarray(at));
      law(((received[at] ?? 0) & 0x70) === 0, 'a frame has no reserved bits', received.subarray(at));
    }
  },
};

async function afterUpgrade({ origin }: World, body: Buffer): Promise<Buffer> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  let received = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
  });
  const closed = once(socket, 'close');
  socket.write(`${[...HEAD, `sec-websocket-key: ${randomBytes(16).toString('base64')}`].join('\r\n')}\r\n\r\n`);
  while (!received.includes('\r\n\r\n')) await once(socket, 'data');
  socket.end(body);
  await closed;
  return received.subarray(received.indexOf('\r\n\r\n') + 4);
}

function frameBytes(bytes: Buffer, at: number): number {
  const short = (bytes[at + 1] ?? 0) & 0x7f;
  if (short < 126) return 2 + short;
  if (short === 126) return 4 + (at + 4 <= bytes.length ? bytes.readUInt16BE(at + 2) : 0);
  return 10 + (at + 10 <= bytes.length ? Number(bytes.readBigUInt64BE(at + 2)) : 0);
}

/** WebSockets. */
export const webSockets = [messages, frames] as const;
