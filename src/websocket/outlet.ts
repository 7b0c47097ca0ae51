/** Writes to one client, no faster than it reads, and knows whether it is alive. */
import type { WebSocket } from 'ws';

/** How much may lie unsent before the writer waits, in bytes. */
const READ_AHEAD = 64 * 1024;

/** The way to one client. */
export interface Outlet {
  /** Whether more is unsent than the writer may have ahead of the client. */
  readonly full: boolean;
  /** Resolves when more may be written, or never can. */
  send(message: string): Promise<void>;
  /** Asks for a sign of life; does nothing where the client reads nothing anyway. */
  ping(): void;
  /** Whether the client has shown life since this was asked last. */
  livedSince(): boolean;
}

/** Makes the outlet of a socket. */
export function outletOf(socket: WebSocket): Outlet {
  let lived = true;
  const live = () => {
    lived = true;
  };
  const full = () => socket.bufferedAmount > READ_AHEAD;

  socket.on('pong', live).on('message', live);
  socket.on('ping', (data) => {
    live();
    // Not by ws itself: the answers to a client that only sends pings would pile up here.
    if (!full()) socket.pong(data, undefined, ignore);
  });

  return {
    get full() {
      return full();
    },
    async send(message) {
      const sent = new Promise<void>((resolve) => {
        socket.send(message, (error) => {
          if (!error) live();
          resolve();
        });
      });
      if (full()) await sent;
    },
    ping() {
      if (!full()) socket.ping(undefined, undefined, ignore);
    },
    livedSince() {
      const answer = lived;
      lived = false;
      return answer;
    },
  };
}

/** The socket is closed: its `close` tells. */
function ignore(): void {}
