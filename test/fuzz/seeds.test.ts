/** Cases that once broke a law: each file of test/fuzz/seeds is one, as `npm run fuzz` writes it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fuzz, replay } from './runner.ts';
import type { AnyTarget } from './target.ts';
import { TARGETS } from './targets/all.ts';
import { startWorld, type World } from './world.ts';

const folder = join(import.meta.dirname, 'seeds');
const seeds = readdirSync(folder).map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8'))] as const);

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

function targetNamed(name: string): AnyTarget {
  const target = TARGETS.find((each) => each.name === name);
  if (!target) throw new Error(`There is no target '${name}'.`);
  return target;
}

it.each(seeds)('[Q-06] keeps every law: %s', async (_name, { target, input }) => {
  await replay(targetNamed(target), world, input);
});

it.each(TARGETS.map((target) => [target.name, target] as const))(
  '[Q-06] takes random input: %s',
  async (_name, target) => {
    expect(await fuzz(target, world, 10, 7)).toEqual({ cases: 10, failure: undefined });
  },
);

it('[Q-06] finds a broken law, and makes the case that shows it small', async () => {
  const flawed = {
    ...targetNamed('forms with files'),
    run: ({ body }: { readonly body: string }) => expectShort(body),
  };
  const { failure } = await fuzz(flawed as unknown as AnyTarget, world, 1000, 1);
  expect(failure).toMatchObject({ target: 'forms with files', seed: 1, error: expect.stringContaining('too long') });
});

function expectShort(body: string): void {
  if (body.length > 20_000) throw new Error('too long');
}
