/**
 * Helps with a release: `node scripts/release.mjs check` fails while the package cannot be published; `notes v1.2.3` prints the section of that version
 * in CHANGELOG.md.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The organisation in package.json until there is a real one. */
const PLACEHOLDER = 'your-org';

/**
 * Why the package cannot be published: a list of sentences, empty if it can.
 *
 * @param {{ version: string; homepage?: string; repository?: { url: string }; bugs?: { url: string } }} manifest
 */
export function obstacles({ repository, homepage, bugs, version }, { changelog, versionFile }) {
  const addresses = { repository: repository?.url, homepage, bugs: bugs?.url };
  const unset = Object.keys(addresses).filter((name) => (addresses[name] ?? PLACEHOLDER).includes(PLACEHOLDER));
  const isDated = /^## \[[^\]]+\] - \d{4}-\d\d-\d\d$/.test(headingOf(changelog, version) ?? '');
  return [
    ...unset.map((name) => `package.json: ${name} is still a placeholder (${PLACEHOLDER}); name the real repository.`),
    ...(isDated
      ? []
      : [`CHANGELOG.md: the section of ${version} needs a date, such as '## [${version}] - 2026-12-01'.`]),
    ...(versionFile.includes(`'${version}'`) ? [] : [`src/protocol/version.ts: the version is not ${version}.`]),
  ];
}

/** The section of the version, without its heading. Throws if there is none. */
export function notesOf(changelog, version) {
  const heading = headingOf(changelog, version);
  if (heading === undefined) throw new Error(`CHANGELOG.md has no section for ${version}.`);
  const [notes = ''] = changelog.slice(changelog.indexOf(heading) + heading.length).split('\n## ', 1);
  return `${notes.trim()}\n`;
}

function headingOf(changelog, version) {
  return changelog.split('\n').find((line) => line.startsWith(`## [${version}]`));
}

function main(command, tag = '') {
  const read = (path) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
  const manifest = JSON.parse(read('package.json'));
  const changelog = read('CHANGELOG.md');
  if (command === 'notes') {
    if (tag !== `v${manifest.version}`) throw new Error(`The tag ${tag} is not v${manifest.version} of package.json.`);
    return process.stdout.write(notesOf(changelog, manifest.version));
  }
  if (command !== 'check') throw new Error('Usage: release.mjs check, or release.mjs notes TAG');
  const found = obstacles(manifest, { changelog, versionFile: read('src/protocol/version.ts') });
  if (found.length > 0) throw new Error(found.join('\n'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main(...process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
