/** Discards the rest of a request body after the answer, so that the client gets to read the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';

const MAX_DISCARD_MS = 5000;

/**
 * Closing the connection at once would make many clients report that instead of the answer. What they send is not kept,
 * and those that go on for five seconds are cut off.
 */
export function discardRest(req: IncomingMessage, res: ServerResponse): void {
  res.once('finish', () => {
    if (req.readableEnded) return;
    // The listener: a reader that has not stopped yet would keep `resume` from working.
    req
      .on('error', () => {})
      .on('data', () => {})
      .resume();
    setTimeout(() => {
      if (!req.complete) req.destroy();
    }, MAX_DISCARD_MS).unref();
  });
}
