/** Medians, slopes and tables of the sizing. */
import { markdown, median } from '../table.mjs';

/** The slope of the least-squares line through these points. */
export function slopeThrough(points) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, value]) => value))];
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  return points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
}

/** The median of so many calls one after another, in microseconds. */
export async function microseconds(times, call) {
  const took = [];
  for (let round = 0; round < times; round += 1) {
    const began = performance.now();
    await call(round);
    took.push((performance.now() - began) * 1000);
  }
  return median(took);
}

/** Runs the call for each number below `count`, so many at a time. */
export async function concurrently(count, atOnce, call) {
  let next = 0;
  const worker = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** A table with a head. */
export function table(head, rows) {
  return markdown([head, ...rows.map((row) => row.map(String))]);
}

/** The number with separators of thousands. */
export function shown(value, digits = 0) {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
