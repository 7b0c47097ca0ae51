/** What stands between the package and the registry. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { notesOf, obstacles } from '../../scripts/release.mjs';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const url = 'https://github.com/acme/express-open-responses';
const ready = {
  version: '1.2.3',
  homepage: url,
  repository: { url: `git+${url}.git` },
  bugs: { url: `${url}/issues` },
};
const changelog = '# Changelog\n\n## [1.2.3] - 2026-12-01\n\n- New.\n\n## [1.2.2] - 2026-11-01\n\n- Old.\n';
const files = { changelog, versionFile: "export const VERSION = '1.2.3';\n" };

describe('package.json', () => {
  it('has nothing that npm corrects when it publishes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'manifest-'));
    const path = join(folder, 'package.json');
    copyFileSync(join(root, 'package.json'), path);
    execFileSync('npm', ['pkg', 'fix'], { cwd: folder, stdio: 'ignore' });
    const fixed = readFileSync(path, 'utf8');
    rmSync(folder, { recursive: true });
    expect(JSON.parse(fixed)).toEqual(JSON.parse(read('package.json')));
  });
});

describe('the workflows', () => {
  it('name the actions of others by commit, since a tag can be moved', () => {
    const folder = '.github/workflows';
    const lines = readdirSync(join(root, folder)).flatMap((file) => read(join(folder, file)).split('\n'));
    const uses = lines.flatMap((line) => line.split('uses: ').slice(1)).filter((action) => !action.startsWith('./'));
    const unpinned = uses.filter((action) => !/^[\w-]+\/[\w-]+@[\da-f]{40} # v\d/.test(action));
    expect([uses.length > 0, unpinned]).toEqual([true, []]);
  });
});

describe('a release', () => {
  it('[Q-05] is refused while the repository is a placeholder', () => {
    const placeholder = url.replace('acme', 'your-org');
    expect([
      obstacles(ready, files),
      obstacles({ ...ready, homepage: placeholder }, files),
      obstacles({ version: '1.2.3' }, files).length,
    ]).toEqual([[], [expect.stringMatching(/^package\.json: homepage is still a placeholder/)], 3]);
  });

  it('[Q-05] is refused without a dated section in the change log, and with another version in the sources', () => {
    const draft = { ...files, changelog: changelog.replace('2026-12-01', 'unreleased') };
    expect([obstacles(ready, draft), obstacles({ ...ready, version: '1.2.2' }, files)]).toEqual([
      ["CHANGELOG.md: the section of 1.2.3 needs a date, such as '## [1.2.3] - 2026-12-01'."],
      ['src/protocol/version.ts: the version is not 1.2.2.'],
    ]);
  });

  it('[Q-05] has the section of its version as notes', () => {
    expect([notesOf(changelog, '1.2.3'), () => notesOf(changelog, '9.9.9')]).toEqual([
      '- New.\n',
      expect.any(Function),
    ]);
    expect(() => notesOf(changelog, '9.9.9')).toThrow('CHANGELOG.md has no section for 9.9.9.');
  });

  it('[Q-05] goes through the check', () => {
    const { scripts, ...manifest } = JSON.parse(read('package.json'));
    expect([
      scripts.prepublishOnly,
      manifest.repository.type,
      notesOf(read('CHANGELOG.md'), manifest.version).length > 100,
    ]).toEqual(['node scripts/release.mjs check', 'git', true]);
  });
});
