/** The line through the figures of a long run. */
import fc from 'fast-check';
import { slopeOf } from '../../bench/slope.mjs';

const amount = fc.integer({ min: -1000, max: 1000 });

describe('slopeOf', () => {
  it('[Q-04] finds the slope of a straight line, without error', () => {
    fc.assert(
      fc.property(amount, amount, fc.integer({ min: 1, max: 20 }), (level, slope, size) => {
        const found = slopeOf(Array.from({ length: 10 * size }, (_, x) => level + slope * x));
        expect(found.slope).toBeCloseTo(slope, 6);
        expect(found.error).toBeCloseTo(0, 6);
      }),
    );
  });

  it('[Q-04] gives the standard error of least squares', () => {
    const { slope, error } = slopeOf([0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    expect([slope, error]).toEqual([expect.closeTo(1 / 33), expect.closeTo(2 / 33)]);
  });

  it('[Q-04] distinguishes growth from a saw without one', () => {
    const saw = Array.from({ length: 80 }, (_, x) => 1000 + ((x * 37) % 13));
    const growing = saw.map((value, x) => value + x);
    const errors = [saw, growing].map((figures) => slopeOf(figures)).map(({ slope, error }) => Math.abs(slope) / error);
    expect(errors.map((count) => count > 2.3)).toEqual([false, true]);
  });
});
