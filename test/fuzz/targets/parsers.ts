/** The parsers of bytes, without a server: what they read depends on the bytes alone, however these are cut. */
import { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { ApiError } from '../../../src/protocol/errors.ts';
import { same } from '../../support/law.ts';
import { readEvents } from '../../support/read-events.ts';
import { type ByteText, editedBytes } from '../byte-edits.ts';
import { bytesOf } from '../client.ts';
import { chatStreams, messagesStreams, responsesStreams } from '../samples.ts';
import type { Target } from '../target.ts';

const EVENT_BYTES = 64 * 1024;
const OPTIONS = { eventBytes: EVENT_BYTES, quietMs: 60_000, onBytes: () => {} };

interface Input {
  readonly body: ByteText;
  /** Bytes in each piece. */
  readonly size: number;
}

/** The events, or the code of an error. */
async function eventsIn(pieces: readonly Buffer[]): Promise<readonly string[] | string> {
  const events: string[] = [];
  try {
    for await (const batch of readEvents(Readable.from(pieces), OPTIONS)) events.push(...batch);
    return events;
  } catch (error) {
    // How many events come before an error is a matter of timing.
    if (error instanceof ApiError) return error.code ?? '';
    throw error;
  }
}

/** What a parser of the specification makes of it; a last event without its blank line counts. */
function expected(body: Buffer): readonly string[] {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => void (data !== '' && events.push(data)) });
  parser.feed(new TextDecoder().decode(body));
  parser.feed('\n\n');
  return events;
}

const eventStreams: Target<Input> = {
  name: 'event streams',
  weight: 14,
  inputs: fc.record({
    body: editedBytes([...chatStreams, ...messagesStreams, ...responsesStreams]),
    size: fc.oneof(fc.constantFrom(1, 2, 3, 7), fc.integer({ min: 8, max: 5000 })),
  }),
  async run({ body, size }) {
    const bytes = bytesOf(body);
    // A piece for each byte is a turn of the event loop.
    const step = Math.max(size, Math.ceil(bytes.length / 2000));
    const count = Math.ceil(bytes.length / step);
    const pieces = Array.from({ length: count }, (_, index) => bytes.subarray(index * step, (index + 1) * step));
    const [whole, inPieces] = [await eventsIn([bytes]), await eventsIn(pieces)];
    // An event over the limit is refused where its beginning waits for its end.
    if (typeof inPieces === 'string' || typeof whole === 'string') return;
    sameEvents(inPieces, whole, 'however the bytes are cut, the events are the same');
    // Two events that a server has not parted by a blank line are two here, and two lines of one in the specification.
    const lines = (events: readonly string[]) => events.join('\n').split('\n').filter(Boolean);
    sameEvents(lines(whole), lines(expected(bytes)), 'events are those of the specification');
  },
};

/** Names the first that differs. */
function sameEvents(actual: readonly string[], expected: readonly string[], name: string): void {
  const at = expected.findIndex((event, index) => event !== actual[index]);
  same(actual[at], expected[at], `${name} (event ${at})`);
  same(actual.length, expected.length, `${name} (how many there are)`);
}

/** Parsers. */
export const parsers = [eventStreams] as const;
