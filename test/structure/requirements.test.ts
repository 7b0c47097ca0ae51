/** Every requirement that a test cites is on the page of requirements, and what other systems do is cited or left out. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeShared, readShared } from '../support/shared.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/requirements.md'), 'utf8');
const listed = idsIn(page);
const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .map((path) => ({ path, ids: idsIn(readFileSync(join(root, 'test', path), 'utf8')) }));
const cited = new Set(tests.flatMap(({ ids }) => [...ids]));

function idsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/\b[ABCDEFGKMOPQSTVX]-\d{2}\b/g));
}

describe('docs/requirements.md', () => {
  it('[Q-08] has every id that a test cites', () => {
    const missing = tests.flatMap(({ path, ids }) =>
      [...ids].filter((id) => !listed.has(id)).map((id) => `${path}: ${id}`),
    );
    expect([tests.length > 100, listed.size > 200, missing]).toEqual([true, true, []]);
  });
});

describeShared('what the systems do that this package serves', () => {
  const systems = readShared('SYSTEMS.md').match(/^\| [ABCDM]-\d{2}(?= \|)/gm) ?? [];

  it('[Q-08] is each cited by a test, or left out for a reason', () => {
    const reasons = page.slice(page.indexOf('## Left out'));
    const known = new Set([...cited, ...idsIn(reasons)]);
    const missing = systems.map((row) => row.slice('| '.length)).filter((id) => !known.has(id));
    expect([systems.length > 150, reasons.length > 100, missing]).toEqual([true, true, []]);
  });
});
