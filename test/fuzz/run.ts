/**
 * `npm run fuzz -- [--cases 4000] [--seed N] [--only name,name]`: random and changed input for every parser and endpoint. A case that breaks a
 * law is made small, written to build/fuzz and printed; in test/fuzz/seeds it is a test.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Failure, fuzz } from './runner.ts';
import { TARGETS } from './targets/all.ts';
import { startWorld } from './world.ts';

/** Connections that the pools keep for the next request. */
const MOST_SOCKETS = 64;
const folder = join(import.meta.dirname, '../../build/fuzz');

const { values } = parseArgs({
  options: { cases: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
});
const cases = Number(values.cases ?? 4000);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isSafeInteger(cases) || !Number.isSafeInteger(seed))
  throw new TypeError('--cases and --seed are whole numbers');
const wanted = values.only?.split(',');
const chosen = TARGETS.filter(({ name }) => !wanted || wanted.some((each) => name.includes(each)));
if (chosen.length === 0) throw new TypeError(`--only: known are ${TARGETS.map(({ name }) => name).join(', ')}`);

console.log(`${cases} cases, --seed ${seed}`);
const total = chosen.reduce((sum, { weight }) => sum + weight, 0);
const world = await startWorld();
let failed = 0;
let ran = 0;
for (const target of chosen) {
  const began = performance.now();
  const outcome = await fuzz(target, world, Math.ceil((cases * target.weight) / total), seed);
  ran += outcome.cases;
  console.log(`${target.name}: ${outcome.cases} cases in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  if (outcome.failure) report(outcome.failure);
}
const left = await world.sockets();
if (left > MOST_SOCKETS) report({ target: 'all', seed, input: left, error: `${left} connections are left open.` });
await world.close();
console.log(`${ran} cases, ${failed} broken laws`);
process.exit(failed === 0 ? 0 : 1);

function report({ target, input, error, seed: used }: Failure): void {
  failed += 1;
  const text = `${JSON.stringify({ target, seed: used, input }, undefined, 2)}\n`;
  const name = `${target.replaceAll(/\W+/g, '-')}-${createHash('sha1').update(text).digest('hex').slice(0, 8)}.json`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
  console.log(
    `\n!! ${target}: ${error.slice(0, 6000)}\n\nThe case, as build/fuzz/${name}, for test/fuzz/seeds:\n${text.slice(0, 1500)}`,
  );
}
