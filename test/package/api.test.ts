/** The pages of docs/api are those of the package's entries; `npm run docs:api` checks what is on them. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { LIMIT_GROUPS } from '../../src/server/options/limit-options.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { name, exports } = JSON.parse(read('package.json'));
const entries = Object.keys(exports)
  .filter((path) => path !== './package.json')
  .map((path) => `${name}${path.slice(1)}`);
const pages = readdirSync(join(root, 'docs/api'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.md'));

describe('docs/api', () => {
  it('has one page for each entry of the package, and an index', () => {
    expect(pages.toSorted()).toEqual(['README.md', ...entries.map((entry) => `${entry}.md`)].toSorted());
  });

  it('lists every page in its index', () => {
    const listed = [...read('docs/api/README.md').matchAll(/\]\((.+)\)/g)].map(([, target]) => target);
    expect(listed.toSorted()).toEqual(entries.map((entry) => `${entry}.md`).toSorted());
  });

  it('is the same on every machine: it has no paths and no lines of sources', () => {
    const revealing = pages.filter((page) => /Defined in|src\/\S+\.ts|file:\/\/|blob\//.test(read(`docs/api/${page}`)));
    expect(revealing).toEqual([]);
  });

  it.each([
    ['request', 'RequestLimits'],
    ['model', 'ModelLimits'],
    ['tools', 'ToolLimits'],
    ['turns', 'TurnLimits'],
  ] as const)('has the defaults of the limits: %s', (group, type) => {
    const [, limits = ''] = read(`docs/api/${name}.md`).split(new RegExp(`^### ${type}$`, 'm'));
    const [section = ''] = limits.split(/^### /m);
    const rows = [...section.matchAll(/`(\w+)\??` \|.* Default: (.+?)\. \|/g)];
    expect(Object.fromEntries(rows.map(([, limit, value]) => [limit, value]))).toEqual(
      Object.fromEntries(
        Object.entries(LIMIT_GROUPS[group]).map(([limit, setting]) => [limit, written(DEFAULT_LIMITS[setting])]),
      ),
    );
  });
});

function written(limit: number): string {
  return limit === Number.POSITIVE_INFINITY ? 'none' : limit.toLocaleString('en-US');
}
