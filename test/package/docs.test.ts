/** The documentation names everything that there is, and nothing that is not. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { ApiError, errorCodes } from '../../src/protocol/errors.ts';
import { LIMIT_GROUPS } from '../../src/server/options/limit-options.ts';
import { optionNames } from '../support/option-names.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
// Not docs/api: `npm run docs:api` writes it, and fails for a link to nothing.
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  ...readdirSync(join(root, 'examples')).map((name) => `examples/${name}/README.md`),
  ...['docs', 'docs/decisions', 'docs/recipes'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  ),
].filter((path) => path.endsWith('.md') && existsSync(join(root, path)));

/** The rows of the table under the heading of docs/options.md: what stands in each one's first two cells. */
function tableUnder(heading: string): readonly (readonly [name: string, value: string])[] {
  const section =
    read('docs/options.md')
      .split(new RegExp(`^#+ ${heading}$`, 'm'))[1]
      ?.split(/^#/m)[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` +\| (.+?) +\|/gm)].map(([, name = '', value = '']) => [name, value]);
}

function namesUnder(heading: string): readonly string[] {
  return tableUnder(heading).map(([name]) => name);
}

describe('docs/errors.md', () => {
  it('has one heading for each code, and the status under it', () => {
    const documented = [...read('docs/errors.md').matchAll(/^### (\w+)\n\nStatus (\d+)/gm)];
    const raised = errorCodes.map((code) => [code, String(new ApiError(code, '').status)]);
    expect(documented.map(([, code, status]) => [code, status]).toSorted()).toEqual(raised.toSorted());
  });

  it('has no other headings of that rank', () => {
    expect(read('docs/errors.md').match(/^### /gm)).toHaveLength(errorCodes.length);
  });
});

describe('docs/options.md', () => {
  it('lists the options of responsesRouter', () => {
    const groups = ['The parts', 'Tools and rules', 'What clients see', 'Background, compaction and tokens', 'Reports'];
    expect(groups.flatMap(namesUnder).toSorted()).toEqual(optionNames(responsesRouter).toSorted());
  });

  it('lists the options of chatCompletionsUpstream', () => {
    const groups = ['Its address', 'What it takes of messages', 'What it takes of requests and tools'];
    expect(groups.flatMap(namesUnder).toSorted()).toEqual(optionNames(chatCompletionsUpstream).toSorted());
  });

  it('has tables that fit on one screen', () => {
    const tables = read('docs/options.md').match(/(?:^\|.*\n)+/gm) ?? [];
    expect(Math.max(...tables.map((table) => table.trim().split('\n').length))).toBeLessThanOrEqual(25);
  });

  it('lists the hooks', () => {
    const names = optionNames((hooks) => responsesRouter({ hooks }));
    expect(
      namesUnder('Hooks')
        .map((name) => name.split('(')[0])
        .toSorted(),
    ).toEqual(names.toSorted());
  });

  it.each([
    ['request', 'Limits of a request'],
    ['model', 'Limits of the model'],
    ['tools', 'Limits of tools'],
    ['turns', 'Limits of turns'],
  ] as const)('lists the limits with their defaults: %s', (group, heading) => {
    const limits = Object.entries(LIMIT_GROUPS[group]).map(([name, setting]) => [
      name,
      written(DEFAULT_LIMITS[setting]),
    ]);
    expect(tableUnder(heading)).toEqual(limits);
  });
});

function written(limit: number): string {
  return limit === Number.POSITIVE_INFINITY ? 'none' : limit.toLocaleString('en-US');
}

describe.each(documents)('%s', (path) => {
  it('links only to files that are there', () => {
    const targets = [...read(path).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
    expect(targets.filter((target) => !existsSync(join(root, dirname(path), decodeURIComponent(target))))).toEqual([]);
  });

  it('links only to headings that are there', () => {
    const links = [...read(path).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)];
    const lost = links.filter(
      ([, page, anchor = '']) => !anchorsIn(page ? join(dirname(path), page) : path).includes(anchor),
    );
    expect(lost.map(([link]) => link)).toEqual([]);
  });
});

/** The anchors of a page's headings, as GitHub and npm make them. */
function anchorsIn(path: string): readonly string[] {
  return [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('docs/README.md', () => {
  it('lists every page', () => {
    const folders = ['api', 'recipes'];
    const names = readdirSync(join(root, 'docs')).filter((name) => name !== 'images');
    const pages = names.map((name) => (folders.includes(name) ? `${name}/README.md` : name));
    const unlisted = pages.filter((name) => !read('docs/README.md').includes(`](${name})`));
    expect(unlisted).toEqual(['README.md']);
  });
});

describe('docs/clients.md', () => {
  const programs = readdirSync(join(root, 'test/clients/programs')).filter((name) => /\.(mjs|py)$/.test(name));
  const [, table = ''] = read('docs/clients.md').split(/<!-- \/?clients.*-->\n/);
  const rows = table.split('\n').slice(2).filter(Boolean);

  it('[K-13] has a row for each program of test/clients, with its line of settings', () => {
    const facts = programs.map((name) => {
      const text = read(`test/clients/programs/${name}`);
      const [client, settings] = ['client', 'settings'].map(
        (fact) => text.match(new RegExp(`^(?: \\* )?${fact}: (.*)$`, 'm'))?.[1],
      );
      return { client, settings };
    });
    const missing = facts.filter(
      ({ client, settings }) => !rows.some((row) => row.startsWith(`| ${client} | `) && row.includes(` | ${settings}`)),
    );
    expect([programs.length > 20, rows.length, missing]).toEqual([true, programs.length, []]);
  });

  it('[K-13] was written by a run in which each client passed whatever it tried, or says that it could not be installed', () => {
    const cell = '(?:–|(?:text|stream|tool|structured output|edits)(?:, (?:stream|tool|structured output|edits))*)';
    const row = new RegExp(
      `^\\| [^|]+ \\| \\d[^|]* \\| \\d{4}-\\d\\d-\\d\\d \\| ${cell} \\| ${cell} \\| ${cell} \\| [^|]+ \\|$`,
    );
    expect(rows.filter((each) => !row.test(each) && !/ \| – \| .*; cannot be installed for /.test(each))).toEqual([]);
  });
});

describe('docs/stores.md', () => {
  it.each(['examples/express/file-store.ts', 'test/examples/file-store.slow.test.ts'])('quotes %s', (path) => {
    expect(read('docs/stores.md')).toContain(`\`\`\`ts\n${read(path)}\`\`\``);
  });
});

describe('docs/conformance.md', () => {
  it('is what `npm run docs:conformance` writes, apart from counts and days', () => {
    const check = () => execFileSync(process.execPath, ['tools/conformance.mjs', '--check'], { cwd: root });
    expect(check).not.toThrow();
  });
});
