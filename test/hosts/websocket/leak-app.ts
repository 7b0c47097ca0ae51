/** Opens and closes many connections to an app in this process, and reports what they leave behind; run by `leaks.slow.test.ts`. */
import { EventEmitter, once } from 'node:events';
import { Socket } from 'node:net';
import { queryObjects } from 'node:v8';
import { WebSocket } from 'ws';
import { startSocketApp } from './support.ts';

const warnings: string[] = [];
process.on('warning', ({ name, message }) => void warnings.push(`${name}: ${message}`));
process.on('unhandledRejection', (reason) => void warnings.push(String(reason)));

const timer = setTimeout(() => {}, 0);
// The cast: every object has a constructor; this one's is not exported.
const Timeout = timer.constructor as new () => unknown;

// The model server is in another process: it remembers every request.
const app = await startSocketApp({ pingMs: 1000, chat: { baseURL: process.env.UPSTREAM_URL } });

/** Ways to leave: at once, after an answer, in the middle of one, with a bad frame, and without a word. */
const WAYS: readonly ((socket: WebSocket) => Promise<void> | void)[] = [
  (socket) => socket.close(),
  async (socket) => {
    await received(socket, 'Hi', 'response.completed');
    socket.close();
  },
  async (socket) => {
    await received(socket, 'stall', 'response.output_text.delta');
    socket.terminate();
  },
  (socket) => socket.send(Buffer.from([0xff]), { binary: false }),
  (socket) => socket.terminate(),
];

function received(socket: WebSocket, input: string, type: string): Promise<void> {
  socket.send(JSON.stringify({ type: 'response.create', model: 'm', input, store: false }));
  return new Promise((resolve) => {
    socket.on('message', (data) => {
      if (String(data).includes(`"type":"${type}"`)) resolve();
    });
  });
}

async function connectAndLeave(index: number): Promise<void> {
  const socket = new WebSocket(app.socketUrl);
  await once(socket, 'open');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await WAYS[index % WAYS.length]?.(socket);
  await closed;
}

async function run(count: number): Promise<void> {
  const batch = 25;
  for (let done = 0; done < count; done += batch)
    await Promise.all(Array.from({ length: batch }, (_, index) => connectAndLeave(done + index)));
}

function alive(): Readonly<Record<string, number>> {
  // What a finalizer releases is only found by the next collection.
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  const count = (kind: abstract new (...given: never[]) => unknown) =>
    // The cast: the types know only constructors without parameters.
    queryObjects(kind as new () => unknown, { format: 'count' }) as unknown as number;
  return {
    timers: count(Timeout),
    signals: count(AbortSignal),
    sockets: count(Socket),
    webSockets: count(WebSocket),
    emitters: count(EventEmitter),
    listeners: app.server.eventNames().reduce((sum, name) => sum + app.server.listenerCount(name), 0),
  };
}

async function settled(): Promise<Readonly<Record<string, number>>> {
  // The pool keeps idle connections; what runs for a client that left has ended when the model server was left.
  while ((await connections()) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => setTimeout(resolve, 200));
  return alive();
}

function connections(): Promise<number> {
  return new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)));
}

await run(100);
const before = await settled();
await run(500);
const after = await settled();
process.send?.({ before, after, warnings });
await app.close();
process.disconnect();
