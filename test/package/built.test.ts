/** A build is left out only where nothing has changed since the last one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildRecord } from '../../scripts/built.mjs';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'built-'));
  for (const path of ['src/a/b.ts', 'scripts/a.mjs', 'dist/cjs/b.js']) put(path, 'one');
});
afterEach(() => rmSync(root, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

it('is current once it is recorded, and not before', () => {
  const record = buildRecord(root);
  const before = record.isCurrent();
  record.write();
  expect([before, record.isCurrent(), buildRecord(root).isCurrent()]).toEqual([false, true, true]);
});

it.each<[string, () => void]>([
  ['a source that changed', () => put('src/a/b.ts', 'two')],
  ['a new source', () => put('src/a/c.ts', 'one')],
  ['a source that moved', () => rmSync(join(root, 'src/a/b.ts'))],
  ['another package.json', () => put('package.json', '{}')],
  ['another entry', () => put('entries.json', '{}')],
  ['its removal', () => rmSync(join(root, 'dist'), { recursive: true })],
])('is not current after %s', (_, change) => {
  const record = buildRecord(root);
  record.write();
  change();
  expect(record.isCurrent()).toBe(false);
});
