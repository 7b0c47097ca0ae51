/** The law of growth that most tests need: eight times the size is about eight times the work. */
import { endCounting, type Work, workOf } from './work.ts';

/** Eight times the size may be sixteen times the work, for trees whose depth grows with it; in the square of the size it would be 64 times. */
const MAX_GROWTH = 16;
/** Work so small that its growth says nothing: what a request, a timer or a first call costs however long the text is. */
const MIN_WORK: Work = { steps: 5_000, passed: 10_000, allocated: 1_000_000 };

afterAll(endCounting);

/**
 * Asserts that eight times the size is about eight times the work, of every kind. Choose the size so that work in its
 * square would be far over `MIN_WORK`. Runs the small size once before, for what is done once. What is allocated counts as the lesser of two runs of the large
 * size: what V8 allocates for itself, to compile code or to collect garbage, comes on top in one of them. The other kinds count in the first, which finds no cache.
 */
export async function expectLinearWork(size: number, run: (size: number) => unknown): Promise<void> {
  await run(size / 8);
  const few = await workOf(() => run(size / 8));
  const first = await workOf(() => run(size));
  const second = await workOf(() => run(size));
  const many = { ...first, allocated: Math.min(first.allocated, second.allocated) };
  const excess = KINDS.flatMap((kind) =>
    many[kind] > MAX_GROWTH * Math.max(few[kind], MIN_WORK[kind]) ? [`${kind}: ${few[kind]} -> ${many[kind]}`] : [],
  );
  expect(excess).toEqual([]);
}

const KINDS = ['steps', 'passed', 'allocated'] as const;
