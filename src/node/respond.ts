/** Writes a reply to a Node response: the one place that touches a client's socket. */
import type { ServerResponse } from 'node:http';
import type { Reply } from '../core/reply.ts';

/**
 * Sends the reply. A stream goes on only as fast as the client reads. Resolves when all is handed to the socket or the
 * client has left.
 */
export async function respond(res: ServerResponse, { status, headers, body }: Reply): Promise<void> {
  if (res.headersSent || res.destroyed) return closeUnread(body);
  if (typeof body === 'string') {
    res.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
    return;
  }
  res.writeHead(status, headers);
  for await (const frames of body) {
    if (res.destroyed) return;
    // Headers go out with the first frames, in one packet, or alone where there are none yet.
    if (frames === '') res.flushHeaders();
    else if (!res.write(frames)) await writable(res);
  }
  res.end();
}

async function closeUnread(body: Reply['body']): Promise<void> {
  if (typeof body !== 'string') await body[Symbol.asyncIterator]().return?.();
}

/** Resolves when the socket takes more, or never will. By hand: `once` with a signal costs 20 µs, and a burst waits often. */
function writable(res: ServerResponse): Promise<void> {
  if (res.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = () => {
      res.off('drain', settle).off('close', settle);
      resolve();
    };
    res.on('drain', settle).on('close', settle);
  });
}
