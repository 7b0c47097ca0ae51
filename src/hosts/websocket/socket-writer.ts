/** Writes to one client, no faster than it reads, and detects whether it is alive. */
import type { WebSocket } from 'ws';
import type { UnreadAnswer } from '../../server/requests/body-room.ts';

/** How many unsent bytes may be buffered before the writer waits. */
const READ_AHEAD = 64 * 1024;

/** The writing side of one client's socket. */
export interface SocketWriter {
  /** Whether more is unsent than may be buffered. */
  readonly isFull: boolean;
  /** Resolves when more may be written, or never can. */
  send(message: string): Promise<void>;
  /** Sends a ping; does nothing if the client does not read. */
  ping(): void;
  /** Whether the client has shown activity since the last call. */
  showedActivity(): boolean;
}

/** What is held for the client while it does not read. */
interface HeldForClient {
  readonly unread: UnreadAnswer;
  /** The bytes of the messages that are being answered. */
  readonly heldBytes: () => number;
}

/** Creates the writer of a socket. */
export function socketWriter(socket: WebSocket, { unread, heldBytes }: HeldForClient): SocketWriter {
  let wasActive = true;
  const noteActivity = () => {
    wasActive = true;
  };
  const hasBacklog = () => socket.bufferedAmount > READ_AHEAD;

  socket.on('pong', noteActivity).on('message', noteActivity);
  socket.on('ping', (data) => {
    noteActivity();
    // Not by ws itself: the pongs for a client that only sends pings would pile up here.
    if (!hasBacklog()) socket.pong(data, undefined, ignoreSendError);
  });

  return {
    get isFull() {
      return hasBacklog();
    },
    async send(message) {
      const sent = new Promise<void>((resolve) => {
        socket.send(message, (error) => {
          if (!error) noteActivity();
          resolve();
        });
      });
      if (!hasBacklog()) return;
      unread.begin(socket.bufferedAmount + heldBytes());
      await sent;
      if (!hasBacklog()) unread.end();
    },
    ping() {
      if (!hasBacklog()) socket.ping(undefined, undefined, ignoreSendError);
    },
    showedActivity() {
      const answer = wasActive;
      wasActive = false;
      return answer;
    },
  };
}

/** The socket is closed, which its `close` event reports. */
function ignoreSendError(): void {}
