/** Starts a server on a free port, and stops it again. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Where nobody listens on this machine. The port of a server that has just stopped is no such place: the system may give it to the server
 * of another test.
 */
export const NOBODY = { port: 2, url: 'http://127.0.0.1:2', baseURL: 'http://127.0.0.1:2/v1' } as const;

/** A server that listens. */
export interface Listening {
  /** Its origin: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly server: Server;
  /** Destroys every connection and stops. */
  close(): Promise<void>;
}

/** Starts the server, or one with this listener, on a free port of 127.0.0.1. */
export async function listening(app: Server | RequestListener): Promise<Listening> {
  const server = typeof app === 'function' ? createServer(app) : app;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function close(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  // The cast: a server that listens on TCP has an address, and not the name of a pipe.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, close };
}
