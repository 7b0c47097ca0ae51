/** The encodings and the random numbers of the realm, beside Node's own. */
import { createCipheriv } from 'node:crypto';
import { TextDecoder as NodeDecoder, TextEncoder as NodeEncoder } from 'node:util';
import fc from 'fast-check';
import { randomBytes } from '../../../../src/tools/code-interpreter/child/random.ts';
import { TextDecoder, TextEncoder } from '../../../../src/tools/code-interpreter/child/text-coding.ts';

/** Text, or that there is none. */
function outcome(decode: () => string): string | Error {
  try {
    return decode();
  } catch {
    return new Error('refused');
  }
}

/** Bytes that are nearly UTF-8. */
const nearly = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => [...Buffer.from(text)]),
      fc.array(fc.integer({ min: 0x7f, max: 0xff })),
    ),
  )
  .map((parts) => Uint8Array.from(parts.flat()));

describe('the encodings of the realm', () => {
  it.each(['utf-8', 'utf-16le'])('[F-01] read %s as Node does, whatever the bytes are', (encoding) => {
    const options = fc.record({ fatal: fc.boolean(), ignoreBOM: fc.boolean() });
    // Node replaces what is no UTF-16, and Pyodide reads only what Python has written.
    const bytes =
      encoding === 'utf-8' ? nearly : fc.string({ unit: 'binary' }).map((text) => Buffer.from(text, 'utf16le'));
    fc.assert(
      fc.property(bytes, options, (given, how) => {
        expect(outcome(() => new TextDecoder(encoding, how).decode(given))).toEqual(
          outcome(() => new NodeDecoder(encoding, how).decode(given)),
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('[F-01] write UTF-8 as Node does, whatever the text is', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff)), (codes) => {
        const text = String.fromCharCode(...codes);
        expect([...new TextEncoder().encode(text)]).toEqual([...new NodeEncoder().encode(text)]);
      }),
    );
  });
});

describe('the random numbers of the realm', () => {
  it('[F-01] are those of ChaCha20, however they are asked for', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.array(fc.nat(200)), (seed, counts) => {
        const fill = randomBytes(seed);
        const parts = counts.map((count) => {
          const part = Buffer.alloc(count);
          fill(part);
          return part;
        });
        const whole = Buffer.concat(parts);
        const stream = createCipheriv('chacha20', seed, Buffer.alloc(16)).update(Buffer.alloc(whole.length));
        expect(whole.equals(stream)).toBe(true);
      }),
    );
  });
});
