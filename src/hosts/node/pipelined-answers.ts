/** Closes the answers that wait for others of their connection, when their client leaves. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** By the connection, which has one listener for all of them. */
const waitingAnswers = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * A client may send requests without waiting for the answers. Node hands all of them out at once, gives the connection to
 * one answer after the other, and closes only the one that has it: the others would be written for ever, for nobody.
 */
export function closeWithConnection(res: ServerResponse): void {
  // The cast: adapters of platforms make requests without a connection.
  const socket = res.req.socket as Socket | null | undefined;
  if (!socket || res.socket !== null || res.writableFinished) return;
  // The client may have left during the host's look-ups.
  if (socket.destroyed) return closeAnswer(res);
  const answers = waitingAnswers.get(socket) ?? watchConnection(socket);
  answers.add(res);
  res.once('socket', () => answers.delete(res));
}

function watchConnection(socket: Socket): Set<ServerResponse> {
  const answers = new Set<ServerResponse>();
  waitingAnswers.set(socket, answers);
  socket.once('close', () => {
    for (const each of answers) closeAnswer(each);
  });
  return answers;
}

/** As Node closes the answer that has the connection. */
function closeAnswer(res: ServerResponse): void {
  res.destroy().emit('close');
}
