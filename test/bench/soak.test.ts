/** The verdict of the soak. */
import { verdictOn } from '../../bench/soak/verdict.mjs';

/** Sixty samples, of which each has 1,000 requests more than the one before. */
function samplesWith(grow: (index: number) => object) {
  const flat = { rss: 200_000, heap: 50_000, handles: 20, sockets: 15, timers: 4, listeners: 14, faults: [] };
  return Array.from({ length: 60 }, (_, index) => ({ ...flat, requests: index * 1000, ...grow(index) }));
}

const noise = (index: number) => ((index * 37) % 13) * 100;

describe('the verdict of the soak', () => {
  it('[Q-04] holds nothing against figures that only move up and down', () => {
    const { reasons } = verdictOn(
      samplesWith((index) => ({ rss: 200_000 + noise(index), heap: 50_000 + noise(index) })),
    );
    expect(reasons).toEqual([]);
  });

  it('[Q-04] names what grows with each request', () => {
    const { reasons } = verdictOn(
      samplesWith((index) => ({ heap: 50_000 + 200 * index + noise(index), sockets: 15 + index })),
    );
    expect(reasons).toEqual([
      expect.stringMatching(/^heap grows by \d+\.\d ± \d+\.\d KB for 1,000 requests$/),
      'sockets grow from 39 to 74',
    ]);
  });

  it('[Q-04] does not count what grows while it warms up', () => {
    const { reasons } = verdictOn(samplesWith((index) => ({ heap: 50_000 + 500 * Math.min(index, 20) })));
    expect(reasons).toEqual([]);
  });

  it('[Q-04] reports when there is too little to judge by', () => {
    expect(verdictOn(samplesWith(() => ({})).slice(0, 5)).reasons).toEqual(['5 samples are too few for a verdict']);
  });
});
