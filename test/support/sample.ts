/** Which tests of a file run in a sampled run: SEED, a text such as a commit, decides it. */
import { seedFor } from './seed.cjs';

/** The functions of jest's that make up a test file. */
export interface TestGlobals {
  readonly it: typeof it;
  readonly describe: typeof describe;
  readonly beforeAll: typeof beforeAll;
  readonly afterAll: typeof afterAll;
  readonly beforeEach: typeof beforeEach;
  readonly afterEach: typeof afterEach;
}

const HOOKS = ['beforeAll', 'afterAll', 'beforeEach', 'afterEach'] as const;

/** The body of one `describe`, or the file. */
interface Block {
  readonly outer: Block | undefined;
  hasHooks: boolean;
  hasTests: boolean;
  /** Registers a test that is not part of the sample. */
  spare: (() => void) | undefined;
}

/**
 * The same functions for a sample: about one test in `share`, which SEED decides, and of a table about one row in `share`. Jest
 * refuses a file without tests and hooks without tests, so the first test of a file is always part of it, and one of each
 * `describe` with hooks.
 */
export function sampled(jest: TestGlobals, file: string, share: number): TestGlobals {
  let block: Block = { outer: undefined, hasHooks: false, hasTests: false, spare: undefined };
  let isFirst = true;

  function isTaken(name: string): boolean {
    const taken = isFirst || seedFor(`${file}\0${name}`) % share === 0;
    isFirst = false;
    return taken;
  }

  function register(taken: boolean, test: () => void): void {
    if (!taken) {
      block.spare ??= test;
      return;
    }
    for (let each: Block | undefined = block; each; each = each.outer) each.hasTests = true;
    test();
  }

  function inBlock(body: () => void): void {
    block = { outer: block, hasHooks: false, hasTests: false, spare: undefined };
    body();
    const { spare } = block;
    if (spare && needsTest(block)) register(true, spare);
    block = block.outer as Block;
  }

  const sampledIt = (name: string, ...rest: [jest.ProvidesCallback?, number?]) =>
    register(isTaken(name), () => jest.it(name, ...rest));
  const eachTest = (table: readonly unknown[], ...values: unknown[]) => {
    // A table that is written as a template is taken whole.
    if ('raw' in table) return jest.it.each(table as unknown as TemplateStringsArray, ...values);
    return (name: string, ...rest: [jest.EmptyFunction, number?]) => {
      const rows = table.filter((_, index) => isTaken(`${name}\0${index}`));
      register(rows.length > 0, () => jest.it.each(rows.length > 0 ? rows : table.slice(0, 1))(name, ...rest));
    };
  };
  const inBlocks = (describeBlock: jest.Describe | jest.Describe['skip']) =>
    Object.assign((name: string, body: () => void) => describeBlock(name, () => inBlock(body)), describeBlock, {
      each: (table: readonly unknown[], ...values: unknown[]) => {
        const describeEach = describeBlock.each(table as TemplateStringsArray, ...values);
        return (name: string, body: (...row: unknown[]) => void) =>
          describeEach(name, (...row: unknown[]) => inBlock(() => body(...row)));
      },
    });
  const hooks = HOOKS.map((name) => {
    const hook = (...rest: Parameters<typeof beforeAll>) => {
      block.hasHooks = true;
      jest[name](...rest);
    };
    return [name, hook];
  });
  // The casts: `skip`, `only` and the like are those of jest.
  return {
    ...(Object.fromEntries(hooks) as Pick<TestGlobals, (typeof HOOKS)[number]>),
    it: Object.assign(sampledIt, jest.it, { each: eachTest }) as unknown as typeof it,
    describe: Object.assign(inBlocks(jest.describe), {
      skip: inBlocks(jest.describe.skip),
    }) as unknown as typeof describe,
  };
}

/** Whether the block, or one around it, has hooks and no tests yet. */
function needsTest(block: Block): boolean {
  if (block.hasTests) return false;
  if (block.hasHooks) return true;
  return block.outer?.outer ? needsTest(block.outer) : false;
}
