/** The documentation names everything that there is, and nothing that is not. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { ApiError, errorCodes } from '../../src/protocol/errors.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...['docs', 'docs/decisions'].flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)),
].filter((path) => path.endsWith('.md'));

/** The names of the options, as the message about an unknown one lists them. */
function optionNames(create: (options: object) => unknown): readonly string[] {
  try {
    create({ unheardOf: true });
  } catch (error) {
    return String(error).split('known are ')[1]?.split(', ') ?? [];
  }
  throw new Error('An unknown option was taken.');
}

/** The rows of the README's table under the heading: what stands in each one's first two cells. */
function tableUnder(heading: string): readonly (readonly [name: string, value: string])[] {
  const section =
    read('README.md')
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

describe('README.md', () => {
  it('lists the options of responsesRouter', () => {
    expect(namesUnder('Options').toSorted()).toEqual(optionNames(responsesRouter).toSorted());
  });

  it('lists the options of chatCompletionsUpstream', () => {
    expect(namesUnder('The model server').toSorted()).toEqual(optionNames(chatCompletionsUpstream).toSorted());
  });

  it('lists the hooks', () => {
    const names = optionNames((hooks) => responsesRouter({ hooks }));
    expect(
      namesUnder('Hooks')
        .map((name) => name.split('(')[0])
        .toSorted(),
    ).toEqual(names.toSorted());
  });

  it('lists the limits with their defaults', () => {
    const limits = Object.entries(DEFAULT_LIMITS).map(([name, value]) => [name, written(value)]);
    expect(tableUnder('Limits')).toEqual(limits);
  });
});

function written(limit: number): string {
  return limit === Number.POSITIVE_INFINITY ? 'none' : limit.toLocaleString('en-US');
}

describe.each(documents)('%s', (path) => {
  it('links only to files that are there', () => {
    const targets = [...read(path).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
    expect(targets.filter((target) => !existsSync(join(root, dirname(path), target)))).toEqual([]);
  });
});

describe('docs/stores.md', () => {
  it.each(['examples/express/file-store.ts', 'test/examples/file-store.test.ts'])('quotes %s', (path) => {
    expect(read('docs/stores.md')).toContain(`\`\`\`ts\n${read(path)}\`\`\``);
  });
});
