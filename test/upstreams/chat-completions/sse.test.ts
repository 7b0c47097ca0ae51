/** How the bytes of an event stream become batches of data. */
import { PassThrough, Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { ApiError } from '../../../src/protocol/errors.ts';
import { streamBytes } from '../../../src/streams/bytes.ts';
import { openInbox } from '../../../src/streams/sse-reader.ts';
import { readEvents } from '../../support/read-events.ts';

const OPTIONS = { eventBytes: 1 << 20, quietMs: 60_000, onBytes: () => {} };

/** All data, and how it ended. */
async function read(chunks: readonly (string | Buffer)[], options = OPTIONS) {
  const emitted: string[] = [];
  try {
    const body = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    for await (const batch of readEvents(body, options)) emitted.push(...batch);
  } catch (error) {
    return [emitted, error instanceof ApiError ? error.message : error];
  }
  return [emitted, 'ended'];
}

describe('openInbox', () => {
  it.each<[string, readonly (string | Buffer)[], readonly string[]]>([
    ['with a byte order mark', ['\ufeffdata: a\n\n'], ['a']],
    ['whose lines end with a carriage return', ['data: a\r', '\rdata: b\r\r'], ['a', 'b']],
    ['whose lines end with both, cut between them', ['data: a\r', '\n\r', '\ndata: b\r\n\r\n'], ['a', 'b']],
    [
      'cut inside a character',
      [Buffer.from('data: \u{1F600}\n\n').subarray(0, 8), Buffer.from('\u{1F600}\n\n').subarray(2)],
      ['\u{1F600}'],
    ],
    [
      'with an event of many reads and a last one without its end',
      ['da', 'ta: a', 'b', 'c\n', '\nda', 'ta: d'],
      ['abc', 'd'],
    ],
    [
      'of bytes that are no UTF-8',
      [Buffer.concat([Buffer.from('data: a'), Buffer.from([0xff]), Buffer.from('\n\n')])],
      ['a\ufffd'],
    ],
  ])('[P-08] reads a stream %s', async (_, chunks, emitted) => {
    expect(await read(chunks)).toEqual([emitted, 'ended']);
  });

  it('[P-08] hands on what came before a line over the limit, however it was read', async () => {
    const tooLong = `data: ${'x'.repeat(2000)}`;
    const outcome = [['a'], "The model server sent an event over this server's limit."];
    const options = { ...OPTIONS, eventBytes: 100 };
    expect(await read([`data: a\n\n${tooLong}`], options)).toEqual(outcome);
    expect(await read(['data: a\n\n', ...tooLong], options)).toEqual(outcome);
  });

  it('[P-10] reads no more than a little while nobody asks, and goes on where somebody does', async () => {
    const body = new PassThrough({ highWaterMark: 1024 });
    const inbox = openInbox(streamBytes(body), OPTIONS);
    const event = `data: ${'x'.repeat(1000)}\n\n`;
    let written = 0;
    while (body.write(event) || written < 20) {
      written += 1;
      await turn();
      if (written > 1000) break;
    }
    expect(written).toBeLessThan(100);
    body.end();
    const batches: number[] = [];
    for (;;) {
      const batch = await new Promise<readonly string[] | undefined>((resolve, reject) => {
        inbox.pull({ onChunk: resolve, onEnd: () => resolve(undefined), onError: reject });
      });
      if (!batch) break;
      batches.push(batch.length);
    }
    inbox.close();
    expect(batches.reduce((sum, size) => sum + size, 0)).toBe(written + 1);
  });
});
