/** entries.json declares each entry of the package; everything else that names them follows from it. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** What `scripts/entries.mjs` in this folder prints, and how it ends. */
function check(folder: string): Promise<readonly [status: number | string | null | undefined, errors: string]> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'scripts/entries.mjs'), '--check'], (error, _, errors) =>
      resolve([error?.code ?? 0, errors]),
    );
  });
}

describe('entries.json', () => {
  it('[Q-05] has as entries what package.json exports, and tsconfig.json finds', async () => {
    expect(await check(root)).toEqual([0, '']);
  });

  it('[Q-05] is missed by the check where an entry is declared there alone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'entries-'));
    mkdirSync(join(folder, 'scripts'));
    for (const path of ['package.json', 'tsconfig.json', 'scripts/entries.mjs'])
      copyFileSync(join(root, path), join(folder, path));
    writeFileSync(join(folder, 'entries.json'), '{ ".": "src/index.ts", "./other": "src/other/index.ts" }');
    const [status, errors] = await check(folder);
    rmSync(folder, { recursive: true });
    expect([status, errors.match(/^\S+(?= does not follow from entries\.json)/gm)]).toEqual([
      1,
      ['package.json', 'tsconfig.json'],
    ]);
  });
});
