/** Events counted byte by byte: how they are cut into pieces changes nothing. */
import fc from 'fast-check';
import { bodyMeter, eventMeter, type MessageMeter } from '../../../src/tools/egress/message-meter.ts';

/** The largest message and whether the last one is open, after text that comes in pieces of this size. */
function measured(meter: MessageMeter, text: string, size = text.length) {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    meter(bytes.subarray(index * size, (index + 1) * size)),
  );
  return { largest: Math.max(...pieces.map(({ largest }) => largest)), isOpen: pieces.at(-1)?.isOpen };
}

describe('the meter of events', () => {
  it.each([
    ['data: 1\n\n', 9, false],
    ['data: 1\r\n\r\n', 9, false],
    ['data: 1\r\r', 9, false],
    ['data: 1\r\ndata: 2\r\n\r\n', 17, false],
    ['data: 1\r\n', 8, true],
    ['data: 1\n\ndata: 22\n\n', 10, false],
    ['data: 1\n\ndata', 9, true],
    ['data: 1\n', 8, true],
    [': ping\n', 7, false],
    [': ping\n\n', 7, false],
    [': ping\n: ping\n', 7, false],
    ['retry: 10\n\n', 11, false],
    ['data: 1\n: ping\ndata: 2\n\n', 24, false],
    ['data: :\n\n', 9, false],
  ])('[T-09] reads %j as at most %d bytes a message', (text, largest, isOpen) => {
    expect(measured(eventMeter(), text)).toEqual({ largest, isOpen });
  });

  it('[T-09] reads the same from any pieces', () => {
    const text = fc.array(fc.constantFrom('\n', '\r', '\r\n', ':', 'a', 'data: 1'), { minLength: 1 });
    const law = fc.property(text, fc.integer({ min: 1, max: 9 }), (parts, size) => {
      expect(measured(eventMeter(), parts.join(''), size)).toEqual(measured(eventMeter(), parts.join('')));
    });
    fc.assert(law);
  });

  it('[T-09] reports when a message began in a piece', () => {
    const meter = eventMeter();
    const pieces = ['data: 1', '\n', '\ndata: 2', '\n\n'].map((text) => meter(Buffer.from(text)).hasBegun);
    expect(pieces).toEqual([true, false, true, false]);
  });
});

describe('the meter of a body', () => {
  it('[T-09] counts all of it', () => {
    expect(measured(bodyMeter(), 'one\n\ntwo\n\n', 3)).toEqual({ largest: 10, isOpen: true });
  });
});
