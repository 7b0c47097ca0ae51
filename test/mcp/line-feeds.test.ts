/** Line ends of an event stream, whatever pieces they come in. */
import fc from 'fast-check';
import { lineFeeds } from '../../src/mcp/shared/line-feeds.ts';

const text = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '\u00e9'), maxLength: 40 });

describe('lineFeeds', () => {
  it('[F-04] writes CR, LF and CRLF as LF, however the bytes are cut', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(40), { maxLength: 6 }), (whole, cuts) => {
        const bytes = Buffer.from(whole);
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((one, other) => one - other), bytes.length];
        const rewrite = lineFeeds();
        const pieces = places.slice(1).map((end, index) => rewrite(bytes.subarray(places[index], end)));
        expect(Buffer.concat(pieces).toString()).toBe(whole.replace(/\r\n?/g, '\n'));
      }),
      { numRuns: 1_000 },
    );
  });
});
