/** Discards the rest of a request body after the answer, so that the client gets to read the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The longest pause of a client that still sends, and the longest that it may take; a busy machine reads a large body for seconds. */
const MAX_PAUSE_MS = 5000;
const MAX_DISCARD_MS = 30_000;

/**
 * Closing the connection at once would make many clients report that instead of the answer. What they send is not kept,
 * and those that pause for five seconds, or go on for thirty, are cut off.
 */
export function discardRest(req: IncomingMessage, res: ServerResponse): void {
  res.once('finish', () => {
    if (req.readableEnded) return;
    const cutOff = () => {
      clearTimeout(pause);
      clearTimeout(end);
      if (!req.complete) req.destroy();
    };
    const pause = setTimeout(cutOff, MAX_PAUSE_MS).unref();
    const end = setTimeout(cutOff, MAX_DISCARD_MS).unref();
    // The listener: a reader that has not stopped yet would keep `resume` from working.
    req
      .on('error', () => {})
      .on('data', () => pause.refresh())
      .once('close', cutOff)
      .resume();
  });
}
