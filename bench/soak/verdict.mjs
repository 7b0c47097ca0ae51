/** Detects leaks: the slopes of figures over the samples after the warm-up. */
import { slopeOf } from '../slope.mjs';

/** Slopes within so many standard errors do not differ from zero, with the eight degrees of freedom of ten blocks. */
const ERRORS = 2.3;
/** Nor is a lower slope a leak: a heap varies by so much, in KB per 1,000 requests. */
export const BOUNDS = { rss: 100, heap: 15 };
/** Nor is less growth, in KB over all samples: caches, compiled code and buffers, which took 250,000 requests to fill (bench/README.md). */
const SETTLING = { rss: 24_000, heap: 6_000 };
/** Sockets, timers and listeners may differ by so much from the first sample after the warm-up: pools open and close. */
const SPARE = 12;
const COUNTS = ['handles', 'sockets', 'timers', 'listeners'];

/** The fewest samples: without the warm-up, ten blocks of figures are left. */
const LEAST = 17;

/** The part of the samples that is the warm-up. */
export const WARM_UP = 0.4;

/**
 * Returns rows of figures, and the reasons to suspect a leak; `samples` are the server's, each with the number of requests so far.
 */
export function verdictOn(samples, bounds = BOUNDS) {
  if (samples.length < LEAST)
    return { slopes: [], counts: [], reasons: [`${samples.length} samples are too few for a verdict`] };
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  const [first, last] = [settled[0], settled.at(-1)];
  const thousands = (last.requests - first.requests) / 1000;
  const perSample = thousands / (settled.length - 1);
  const slopes = Object.keys(bounds).map((name) => {
    const { slope, error } = slopeOf(settled.map((sample) => sample[name]));
    return { name, from: first[name], to: last[name], slope: slope / perSample, error: error / perSample };
  });
  const counts = COUNTS.map((name) => ({ name, from: first[name], to: last[name] }));
  const reasons = [
    ...slopes
      .filter(
        ({ name, slope, error }) =>
          slope > ERRORS * error && slope > bounds[name] && slope * thousands > SETTLING[name],
      )
      .map(
        ({ name, slope, error }) => `${name} grows by ${slope.toFixed(1)} ± ${error.toFixed(1)} KB for 1,000 requests`,
      ),
    ...counts
      .filter(({ from, to }) => to > from + SPARE)
      .map(({ name, from, to }) => `${name} grow from ${from} to ${to}`),
  ];
  return { slopes, counts, reasons };
}
