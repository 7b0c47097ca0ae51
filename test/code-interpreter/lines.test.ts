/** Lines out of bytes, however these are cut. */
import fc from 'fast-check';
import { lineReader } from '../../src/code-interpreter/lines.ts';

function linesOf(chunks: readonly Uint8Array[], maxBytes = 1_000_000): readonly string[] {
  const lines: string[] = [];
  const read = lineReader(maxBytes, { line: (text) => lines.push(text), tooLong: () => lines.push('TOO LONG') });
  for (const chunk of chunks) read(Buffer.from(chunk));
  return lines;
}

describe('lineReader', () => {
  it('[T-11] reads the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.array(fc.nat(20)), (texts, cuts) => {
        const lines = texts.map((text) => text.replaceAll('\n', '\u2028'));
        let bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const chunks = cuts.map((cut) => {
          const chunk = bytes.subarray(0, cut);
          bytes = bytes.subarray(cut);
          return chunk;
        });
        expect(linesOf([...chunks, bytes])).toEqual(lines);
      }),
    );
  });

  it('[T-11] takes a line of the limit, and nothing after a longer one, whole or not', () => {
    expect(linesOf([Buffer.from('abc\nabcd\nx\n'), Buffer.from('y\n')], 3)).toEqual(['abc', 'TOO LONG']);
    expect(linesOf([Buffer.from('ab'), Buffer.from('cd'), Buffer.from('ef\n'), Buffer.from('g\n')], 3)).toEqual([
      'TOO LONG',
    ]);
  });
});
