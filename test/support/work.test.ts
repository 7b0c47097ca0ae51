/** The counts by which laws of growth are told: each way to be quadratic shows in one of them. */
import { grow } from '../../src/protocol/grown-text.ts';
import { expectLinearWork } from './linear-work.ts';
import { workOf } from './work.ts';

const words = (size: number) => Array.from({ length: size }, (_, index) => `word ${index} `);
const text = (size: number) => words(size).join('');

/** The kinds of work that grow too much. */
async function excessOf(size: number, run: (size: number) => unknown): Promise<readonly string[]> {
  try {
    await expectLinearWork(size, run);
    return [];
  } catch (error) {
    // The cast: an assertion of jest's that fails has what it compared.
    const { matcherResult } = error as { matcherResult: { actual: readonly string[] } };
    return matcherResult.actual.map((line) => line.replace(/:.*/, ''));
  }
}

it.each<[string, (size: number) => unknown]>([
  ['a list that is built and written', (size) => JSON.parse(JSON.stringify(words(size)))],
  [
    'a text that is cut from the front',
    (size) => {
      for (let rest = text(size); rest; ) rest = rest.slice(5);
    },
  ],
  ['matches of a pattern', (size) => [...text(size).matchAll(/\d+/g)]],
])('find nothing in %s', async (_, run) => {
  expect(await excessOf(4000, run)).toEqual([]);
});

it.each<[string, string, (size: number) => unknown]>([
  ['passed', 'a search of a list', (size) => words(size).filter((word, _, all) => all.includes(`${word}x`))],
  [
    'passed',
    'a search of the rest of a text',
    (size) => {
      for (let rest = text(size); rest; rest = rest.slice(5)) rest.includes('x');
    },
  ],
  [
    'passed',
    'a pattern that looks at all of the rest',
    (size) => {
      for (let rest = text(size); rest; rest = rest.slice(5)) /x/.test(rest);
    },
  ],
  [
    'passed',
    'bytes that are put together anew',
    (size) => {
      let bytes = Buffer.alloc(0);
      for (const word of words(size)) bytes = Buffer.concat([bytes, Buffer.from(word)]);
    },
  ],
  ['passed', 'a list that is spread', (size) => words(size / 4).reduce<string[]>((all, word) => [...all, word], [])],
  [
    'allocated',
    'an object that is spread',
    (size) => words(size / 4).reduce((all, word) => ({ ...all, [word]: 1 }), {}),
  ],
])('find the square, %s, of %s', async (kind, _, run) => {
  expect(await excessOf(4000, run)).toContain(kind);
});

it('count the runs of the blocks of the package, exactly', async () => {
  const run = (size: number) => () => {
    const grown = { text: '', tail: '' };
    for (const word of words(size)) grow(grown, word);
  };
  run(1)();
  const [few, many, again] = [await workOf(run(10)), await workOf(run(1000)), await workOf(run(1000))];
  expect([again.steps === many.steps, many.steps > 50 * few.steps]).toEqual([true, true]);
});
