/** A client of the app's WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type AgentsApp, BETA, type Shown } from './app.ts';

/** One connection. */
export interface Client {
  send(message: JsonObject): void;
  /** The next message of one of these types. */
  next(...types: readonly string[]): Promise<Shown>;
  readonly received: readonly Shown[];
}

/** Runs with a connection, and ends it. */
export async function connected(app: AgentsApp, run: (client: Client) => Promise<void>, headers = BETA): Promise<void> {
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/responses`, { headers });
  const received: Shown[] = [];
  const unread: Shown[] = [];
  socket.on('message', (data) => {
    // The cast: the server sends nothing else.
    const message = JSON.parse(String(data)) as Shown;
    received.push(message);
    unread.push(message);
  });
  await once(socket, 'open');
  try {
    await run({
      received,
      send: (message) => socket.send(JSON.stringify(message)),
      async next(...types) {
        for (;;) {
          const message = unread.shift();
          if (!message) await once(socket, 'message');
          else if (types.includes(message.type)) return message;
        }
      },
    });
  } finally {
    socket.terminate();
  }
}
