/** A sample is about one test in so many, follows from the seed, and is never empty. */
import { sampled, seedFor } from './sample.ts';

const NAMES = Array.from({ length: 400 }, (_, index) => `test ${index}`);
const { SEED } = process.env;

/** The names that a file with these tests registers, each by itself and as rows of a table. */
function registered(names: readonly string[], seed: string, share: number): { single: string[]; rows: string[] } {
  process.env.SEED = seed;
  const single: string[] = [];
  const rows: string[] = [];
  const each = (table: readonly string[]) => () => rows.push(...table);
  // The cast: a stand-in for jest's own, which would register tests here.
  const register = Object.assign((name: string) => single.push(name), { each }) as unknown as typeof it;
  const sample = sampled(register, 'a.test.ts', share);
  for (const name of names) sample(name, () => {});
  sample.each([...names])('of a table', () => {});
  return { single, rows };
}

describe('a sample of tests', () => {
  afterEach(() => {
    if (SEED === undefined) delete process.env.SEED;
    else process.env.SEED = SEED;
  });

  it('is about one in so many, the same for the same seed and another for another', () => {
    const first = registered(NAMES, 'one', 4);
    expect(registered(NAMES, 'one', 4)).toEqual(first);
    expect(registered(NAMES, 'two', 4)).not.toEqual(first);
    for (const names of Object.values(first)) expect(Math.abs(names.length - NAMES.length / 4)).toBeLessThan(45);
  });

  it('covers all tests and all rows over many seeds', () => {
    const samples = Array.from({ length: 60 }, (_, seed) => registered(NAMES, String(seed), 4));
    const seen = [samples.flatMap(({ single }) => single), samples.flatMap(({ rows }) => rows)];
    expect(seen.map((names) => new Set(names).size)).toEqual([NAMES.length, NAMES.length]);
  });

  it('is never empty, and whole with a share of one', () => {
    const sizes = Array.from({ length: 50 }, (_, seed) => registered(['only'], String(seed), 100).single.length);
    expect([new Set(sizes), registered(NAMES, 'one', 1)]).toEqual([new Set([1]), { single: NAMES, rows: NAMES }]);
  });

  it('has another seed for each name and each run', () => {
    process.env.SEED = 'one';
    const seeds = [seedFor('laws'), seedFor('splits')];
    process.env.SEED = 'two';
    expect(new Set([...seeds, seedFor('laws')]).size).toBe(3);
  });
});
