/** The bytes of every recorded stream, cut anywhere: the decoder must not notice. */

import { Readable } from 'node:stream';
import { ChatDecoder } from '../../src/protocol/chat-completions/decoder.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import { readEvents } from '../support/read-events.ts';
import { describeShared, listShared, readSharedBytes } from '../support/shared.ts';
import { sameInAnyPieces, splitBytes } from '../support/split-bytes.ts';

const FOLDER = 'corpus/chat-stream';
const RUNS = 20;

describeShared('a recorded stream, cut anywhere', () => {
  it.each(listShared(FOLDER, '.sse'))('[Q-03] [P-08] means the same byte by byte: %s', async (name) => {
    const bytes = readSharedBytes(`${FOLDER}/${name}`);
    expect(await modelEvents(splitBytes(bytes, [...bytes.keys()]))).toEqual(await modelEvents([bytes]));
  });

  it.each(listShared(FOLDER, '.sse'))('[Q-03] [P-08] means the same in any pieces: %s', async (name) => {
    await sameInAnyPieces(readSharedBytes(`${FOLDER}/${name}`), modelEvents, RUNS);
  });
});

/** The model's output, and how the stream ended. */
async function modelEvents(chunks: Iterable<Buffer>): Promise<readonly (ModelEvent | string)[]> {
  const events: ModelEvent[] = [];
  const body = Readable.from(chunks, { objectMode: false });
  try {
    await decode(body, events);
  } catch (error) {
    return [...events, String(error)];
  }
  return events;
}

async function decode(body: Readable, events: ModelEvent[]): Promise<void> {
  const decoder = new ChatDecoder();
  let done = false;
  for await (const batch of readEvents(body, { eventBytes: 1 << 20, quietMs: 60_000, onBytes: () => {} })) {
    for (const data of batch) {
      done ||= data === '[DONE]';
      if (!done) decoder.take(JSON.parse(data), events);
    }
  }
  decoder.end(events, done);
}
