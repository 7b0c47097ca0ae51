/** Every requirement that a test cites is on the page of requirements. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const listed = idsIn(readFileSync(join(root, 'docs/requirements.md'), 'utf8'));

function idsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/\b[ABCDFMPQSTVX]-\d{2}\b/g));
}

describe('docs/requirements.md', () => {
  it('[Q-08] has every id that a test cites', () => {
    const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.test.ts'),
    );
    const missing = tests.flatMap((path) =>
      [...idsIn(readFileSync(join(root, 'test', path), 'utf8'))]
        .filter((id) => !listed.has(id))
        .map((id) => `${path}: ${id}`),
    );
    expect([tests.length > 100, listed.size > 200, missing]).toEqual([true, true, []]);
  });
});
