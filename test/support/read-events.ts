/** The batches of an event stream's data, as a test reads them. */
import type { Readable } from 'node:stream';
import { streamBytes } from '../../src/streams/bytes.ts';
import { openInbox, type SseOptions } from '../../src/streams/sse-reader.ts';

/** Yields until the body ends; throws errors of reading. */
export async function* readEvents(body: Readable, options: SseOptions): AsyncGenerator<readonly string[]> {
  const inbox = openInbox(streamBytes(body), options);
  try {
    for (;;) {
      const batch = await new Promise<readonly string[] | undefined>((resolve, reject) => {
        inbox.pull({ onChunk: resolve, onEnd: () => resolve(undefined), onError: reject });
      });
      if (!batch) return;
      yield batch;
    }
  } finally {
    inbox.close();
  }
}
