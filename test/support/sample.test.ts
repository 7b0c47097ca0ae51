/** A sample is about one test in so many, follows from the seed, and is never empty where jest wants a test. */
import { sampled, type TestGlobals } from './sample.ts';
import filesInSample from './sample-files.cjs';
import { seedFor } from './seed.cjs';

const NAMES = Array.from({ length: 400 }, (_, index) => `test ${index}`);
const { SEED } = process.env;

interface Registered {
  readonly single: string[];
  readonly rows: string[];
}

/** What a file registers; `body` receives the sampled functions. */
function registered(seed: string, share: number, body: (globals: TestGlobals) => void): Registered {
  process.env.SEED = seed;
  const found: Registered = { single: [], rows: [] };
  const each = (table: readonly string[]) => () => found.rows.push(...table);
  const hook = () => {};
  const block = () => Object.assign((_name: string, inner: () => void) => inner(), { each: () => () => {} });
  const stub = {
    it: Object.assign((name: string) => found.single.push(name), { each }),
    describe: Object.assign(block(), { skip: block() }),
    ...{ beforeAll: hook, afterAll: hook, beforeEach: hook, afterEach: hook },
  };
  // The cast: stand-ins for jest's own, which would register tests here.
  body(sampled(stub as unknown as TestGlobals, 'a.test.ts', share));
  return found;
}

function inOneFile(names: readonly string[]): (globals: TestGlobals) => void {
  return ({ it: test }) => {
    for (const name of names) test(name, () => {});
    test.each([...names])('of a table', () => {});
  };
}

afterEach(() => {
  if (SEED === undefined) delete process.env.SEED;
  else process.env.SEED = SEED;
});

describe('a sample of tests', () => {
  it('is about one in so many, the same for the same seed and another for another', () => {
    const first = registered('one', 4, inOneFile(NAMES));
    expect(registered('one', 4, inOneFile(NAMES))).toEqual(first);
    expect(registered('two', 4, inOneFile(NAMES))).not.toEqual(first);
    for (const names of Object.values(first)) expect(Math.abs(names.length - NAMES.length / 4)).toBeLessThan(45);
  });

  it('covers all tests and all rows over many seeds', () => {
    const samples = Array.from({ length: 60 }, (_, seed) => registered(String(seed), 4, inOneFile(NAMES)));
    const seen = [samples.flatMap(({ single }) => single), samples.flatMap(({ rows }) => rows)];
    expect(seen.map((names) => new Set(names).size)).toEqual([NAMES.length, NAMES.length]);
  });

  it('is never empty, and whole with a share of one', () => {
    const sizes = Array.from({ length: 50 }, (_, seed) => registered(String(seed), 100, inOneFile(['only'])).single);
    expect(new Set(sizes.map(({ length }) => length))).toEqual(new Set([1]));
    expect(registered('one', 1, inOneFile(NAMES))).toEqual({ single: NAMES, rows: NAMES });
  });

  it('has a test in each block with hooks, in it or within it, and none for a block without', () => {
    const { single } = registered('one', 1_000_000, ({ it: test, describe: block, beforeAll: hook }) => {
      test('first', () => {});
      block('with hooks', () => {
        hook(() => {});
        test('in it', () => {});
        test('in it, too', () => {});
      });
      block('with hooks around others', () => {
        hook(() => {});
        block('inner', () => test('within it', () => {}));
        block('another', () => test('within it, too', () => {}));
      });
      block('without', () => test('in none', () => {}));
    });
    expect(single).toEqual(['first', 'in it', 'within it']);
  });

  it('has another seed for each name and each run', () => {
    process.env.SEED = 'one';
    const seeds = [seedFor('laws'), seedFor('splits')];
    process.env.SEED = 'two';
    expect(new Set([...seeds, seedFor('laws')]).size).toBe(3);
  });
});

describe('a sample of files', () => {
  const PATHS = Array.from(
    { length: 41 },
    (_, index) => `/test/room-${String(index >> 2)}/${index}.test.ts`,
  ).toSorted();
  const { SAMPLE_FILES } = process.env;

  async function chosen(seed: string, share: string): Promise<readonly string[]> {
    Object.assign(process.env, { SEED: seed, SAMPLE_FILES: share });
    return (await filesInSample(PATHS.toReversed())).filtered;
  }

  afterEach(() => {
    if (SAMPLE_FILES === undefined) delete process.env.SAMPLE_FILES;
    else process.env.SAMPLE_FILES = SAMPLE_FILES;
  });

  it('is one of each so many neighbours, the same for the same seed and another for another', async () => {
    const files = await chosen('one', '2');
    expect(files).toEqual(await chosen('one', '2'));
    expect(files).not.toEqual(await chosen('two', '2'));
    expect(files.map((path) => PATHS.indexOf(path) >> 1)).toEqual(Array.from({ length: 21 }, (_, index) => index));
  });

  it('covers all files over several seeds, and is all of them with a share of one', async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 20; seed += 1) for (const path of await chosen(String(seed), '2')) seen.add(path);
    expect([...seen].toSorted()).toEqual(PATHS);
    expect(await chosen('one', '1')).toEqual(PATHS);
  });

  it('refuses a share that is no whole number', async () => {
    await expect(chosen('one', 'half')).rejects.toThrow('got half');
  });
});
