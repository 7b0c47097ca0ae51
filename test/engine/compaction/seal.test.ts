/** The seal of compaction items. */
import fc from 'fast-check';
import { sealWith } from '../../../src/engine/compaction/seal.ts';

const KEY = 'a key of sixteen bytes or more';
const COMPACTED = { summary: 'They spoke of slate.', retained: 2, kept: [{ type: 'function_call', call_id: 'c1' }] };
const seal = sealWith(KEY);

/** The text with one bit of its bytes flipped. */
function flipped(sealed: string, bit: number): string {
  const bytes = Buffer.from(sealed.slice('cmp1.'.length), 'base64url');
  const place = bit % (bytes.length * 8);
  bytes[place >> 3] = (bytes[place >> 3] ?? 0) ^ (1 << (place & 7));
  return `cmp1.${bytes.toString('base64url')}`;
}

describe('sealWith', () => {
  it('[S-14] gives back whatever was sealed, in any scope', () => {
    const compacted = fc.record({
      summary: fc.string({ unit: 'grapheme' }),
      retained: fc.nat(),
      kept: fc.constant([]),
    });
    fc.assert(
      fc.property(compacted, fc.string({ unit: 'grapheme' }), (whole, scope) => {
        expect(seal.open(seal.close(whole, scope), scope)).toEqual(whole);
      }),
    );
  });

  it('[S-14] opens nothing of which one bit was changed', () => {
    const sealed = seal.close(COMPACTED, 'mine');
    fc.assert(fc.property(fc.nat(), (bit) => expect(seal.open(flipped(sealed, bit), 'mine')).toBeUndefined()));
  });

  it('[S-14] [P-13] opens nothing of another scope or another key, and nothing that was never sealed', () => {
    const sealed = seal.close(COMPACTED, 'mine');
    const opened = [
      seal.open(sealed, 'yours'),
      sealWith('another key of sixteen bytes').open(sealed, 'mine'),
      ...['', 'cmp1.', 'cmp1.AAAA', sealed.slice(0, -2), `${sealed}A`, sealed.replace('cmp1', 'cmp2'), 7, null].map(
        (text) => seal.open(text, 'mine'),
      ),
    ];
    expect(opened).toEqual(Array(10).fill(undefined));
  });

  it('[S-14] is the same in every process with the same key, as text or as bytes, and never repeats itself', () => {
    const [one, other] = [seal.close(COMPACTED, 'mine'), seal.close(COMPACTED, 'mine')];
    expect([one === other, sealWith(Buffer.from(KEY)).open(one, 'mine')]).toEqual([false, COMPACTED]);
  });
});
