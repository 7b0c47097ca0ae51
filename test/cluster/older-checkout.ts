/** An older commit of this repository in a folder of its own, as long as no release is published that could be installed. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
/** What the tables of PostgreSQL are made by. */
const SCHEMA = 'src/stores/postgres/schema.ts';

function git(...given: readonly string[]): string {
  return execFileSync('git', given, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** The commits that changed the tables, newest first; none without the history. */
function schemaCommits(): readonly string[] {
  try {
    return git('log', '--format=%H', '--', SCHEMA).split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

const [newest, before] = schemaCommits();

/** The oldest commit with the tables of this one; undefined without the history. */
export const oldestAlike = before === undefined ? undefined : newest;

/** The last commit with other tables, which this one migrates, and which knows nothing of later ones. */
export const lastBefore = before === undefined ? undefined : parentOf(before);

function parentOf(commit: string): string | undefined {
  try {
    return git('rev-parse', '--verify', '--quiet', `${commit}^`);
  } catch {
    return undefined;
  }
}

/** The folder of the commit, with what its nodes need; `remove` deletes it. */
export function checkOut(commit: string): { readonly folder: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'older-checkout-'));
  const archive = execFileSync('git', ['archive', commit, 'src', 'test/support', 'test/cluster', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  // The packages of this checkout: an older one needs none that it lacks.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
