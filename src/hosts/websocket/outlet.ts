/** Writes to one client, no faster than it reads, and detects whether it is alive. */
import type { WebSocket } from 'ws';
import type { UnreadAnswer } from '../../server/body-room.ts';

/** How many unsent bytes may be buffered before the writer waits. */
const READ_AHEAD = 64 * 1024;

/** The writing side of one client's socket. */
export interface Outlet {
  /** Whether more is unsent than may be buffered. */
  readonly full: boolean;
  /** Resolves when more may be written, or never can. */
  send(message: string): Promise<void>;
  /** Sends a ping; does nothing if the client does not read. */
  ping(): void;
  /** Whether the client has shown activity since the last call. */
  livedSince(): boolean;
}

/** What is held for the client while it does not read. */
interface HeldForClient {
  readonly unread: UnreadAnswer;
  /** The bytes of the messages that are being answered. */
  readonly heldBytes: () => number;
}

/** Creates the outlet of a socket. */
export function outletOf(socket: WebSocket, { unread, heldBytes }: HeldForClient): Outlet {
  let lived = true;
  const live = () => {
    lived = true;
  };
  const full = () => socket.bufferedAmount > READ_AHEAD;

  socket.on('pong', live).on('message', live);
  socket.on('ping', (data) => {
    live();
    // Not by ws itself: the pongs for a client that only sends pings would pile up here.
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
      if (!full()) return;
      unread.begin(socket.bufferedAmount + heldBytes());
      await sent;
      if (!full()) unread.end();
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

/** The socket is closed, which its `close` event reports. */
function ignore(): void {}
