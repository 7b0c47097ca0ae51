/** Event streams as their readers see them, whatever their server writes. */
import { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { recordTurn } from '../../src/index.ts';
import { eventLines } from '../../src/streams/event-lines.ts';
import { withHost } from '../hosts/middleware/host.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { readEvents } from '../support/read-events.ts';

const MIB = 1024 * 1024;
const OPTIONS = { eventBytes: 16 * MIB, quietMs: 60_000, onBytes: () => {} };

/** Lines that are worth nothing, so many bytes of each. */
const LINES: readonly (readonly [name: string, lines: (bytes: number) => string])[] = [
  ['that end in CR', (bytes) => 'a\r'.repeat(bytes / 2)],
  ['of which the last ends in CR', (bytes) => `${'a\n'.repeat(bytes / 2)}\r`],
  ['of no field', (bytes) => 'a\n'.repeat(bytes / 2)],
  ['of no field that begins like one', (bytes) => 'dat:\n'.repeat(bytes / 5)],
  ['of a field whose value is none', (bytes) => 'retry:\n'.repeat(bytes / 7)],
  ['of comments that end in CR', (bytes) => ':\r'.repeat(bytes / 2)],
];

const cut = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    Buffer.from(text.slice(index * size, index * size + size)),
  );

async function upstreamReads(chunks: readonly Buffer[]): Promise<number> {
  let events = 0;
  for await (const batch of readEvents(Readable.from(chunks), OPTIONS)) events += batch.length;
  return events;
}

describe('an event stream', () => {
  it.each(LINES)('[F-04] of lines %s takes time in proportion, of a model server', async (_, lines) => {
    const streamOf = (bytes: number) => `${lines(bytes)}\n\ndata: a\n\n`;
    await expectLinearWork(MIB / 32, async (bytes) =>
      expect(await upstreamReads([Buffer.from(streamOf(bytes))])).toBe(1),
    );
    await expectLinearWork(MIB / 32, async (bytes) => expect(await upstreamReads(cut(streamOf(bytes), 1000))).toBe(1));
  });

  it.each(LINES)('[F-04] of lines %s takes time in proportion, of a handler behind recordTurn', async (_, lines) => {
    let bytes = 0;
    const steps = [
      recordTurn(),
      (_req: unknown, res: import('node:http').ServerResponse) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(lines(bytes));
        res.end('\n\ndata: [DONE]\n\n');
      },
    ];
    await withHost(steps, ({ post }) =>
      expectLinearWork(MIB / 32, async (size) => {
        bytes = size;
        await (await post({ model: 'm', input: 'Go.', stream: true })).text();
      }),
    );
  });
});

/** The events that a parser makes of the text. */
function eventsOf(text: string) {
  const events: unknown[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  parser.feed(text);
  return events;
}

const line = fc.oneof(
  fc.constantFrom(
    'data: a',
    'data',
    'event: e',
    'id: 1',
    'id',
    'retry: 5',
    'retry: x',
    ': c',
    '',
    '',
    '',
    'x: y',
    'z',
    'd:',
  ),
  fc.string({ unit: fc.constantFrom('a', 'd', ':', ' ', '\u00e9'), maxLength: 6 }),
);
const stream = fc.array(fc.tuple(line, fc.constantFrom('\r', '\n', '\r\n')), { maxLength: 12 });

describe('eventLines', () => {
  it('[F-04] leaves every event as it is, whatever ends the lines and wherever the text is cut', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(60), { maxLength: 6 }), (lines, cuts) => {
        const whole = lines.flat().join('');
        const places = [0, ...cuts.filter((at) => at < whole.length).sort((one, other) => one - other), whole.length];
        const spelt = eventLines();
        const pieces = places.slice(1).map((end, index) => spelt(whole.slice(places[index], end)));
        const plain = whole.replace(/\r\n?/g, '\n');
        expect([eventsOf(pieces.join('')), pieces.join('').includes('\r')]).toEqual([eventsOf(plain), false]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('[F-04] leaves out lines that mean nothing, and hands on what a parser knows as it is', () => {
    const known = 'data: a\ndata:b\nevent: e\nid: 1\n: c\n\nid\ndata\nretry: 5\n\nda';
    expect(eventLines()(known)).toBe(known);
    expect(eventLines()('data: a\nx\ndatum: b\nretry: x\nretry\n\nx')).toBe('data: a\n\nx');
  });
});
