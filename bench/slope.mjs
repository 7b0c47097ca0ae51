/** The slope of a line through consecutive figures, and its standard error. */

// The correlation of consecutive figures is mostly gone between means of blocks.
const BLOCKS = 10;

/**
 * Least squares over the means of ten blocks: the slope per figure and its standard error. With eight degrees of freedom a
 * slope within 2.3 errors does not differ from zero.
 */
export function slopeOf(figures) {
  const size = Math.floor(figures.length / BLOCKS);
  const means = Array.from({ length: BLOCKS }, (_, block) => mean(figures.slice(block * size, (block + 1) * size)));
  const middle = (BLOCKS - 1) / 2;
  const level = mean(means);
  const spread = sum(means.map((_, x) => (x - middle) ** 2));
  const slope = sum(means.map((value, x) => (x - middle) * (value - level))) / spread;
  const left = sum(means.map((value, x) => (value - level - slope * (x - middle)) ** 2));
  return { slope: slope / size, error: Math.sqrt(left / (BLOCKS - 2) / spread) / size };
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values) {
  return sum(values) / values.length;
}
