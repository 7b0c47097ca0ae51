/** The batches of an event stream's data, as a test reads them. */
import type { Readable } from 'node:stream';
import { pieces } from '../../src/core/pieces.ts';
import { openInbox, type SseOptions } from '../../src/core/upstream/sse.ts';

/** Yields until the body ends; throws what the reading throws. */
export async function* readEvents(body: Readable, options: SseOptions): AsyncGenerator<readonly string[]> {
  const inbox = openInbox(body, options);
  try {
    yield* pieces(inbox.ask);
  } finally {
    inbox.close();
  }
}
