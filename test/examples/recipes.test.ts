/** The pages of recipes quote files that there are, all of them, and link to what there is. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeBlocks, readProject } from './support.ts';

const root = join(import.meta.dirname, '../..');
const files = readdirSync(join(root, 'examples/recipes')).toSorted();
const pages = readdirSync(join(root, 'docs/recipes')).map((name) => `docs/recipes/${name}`);
const code = [...pages, 'docs/middlewares.md', 'docs/logging.md'].flatMap((page) => [
  ...codeBlocks(page, 'ts'),
  ...codeBlocks(page, 'nginx'),
]);

describe('the recipes', () => {
  it.each(files)('quote %s as it is', (name) => {
    expect(code).toContain(readProject(`examples/recipes/${name}`));
  });

  it.each(pages)('have no other code in %s', (page) => {
    const known = files.map((name) => readProject(`examples/recipes/${name}`));
    const blocks = [...codeBlocks(page, 'js'), ...codeBlocks(page, 'ts'), ...codeBlocks(page, 'nginx')];
    expect(blocks.filter((block) => !known.includes(block))).toEqual([]);
  });

  it('are each run by a test', () => {
    const tests = readdirSync(join(root, 'test/examples')).filter((name) => name.startsWith('recipe'));
    const text = tests.map((name) => readProject(`test/examples/${name}`)).join('\n');
    const run = files.filter((name) => text.includes(`'${name.replace(/\.ts$/, '')}'`) || text.includes(`/${name}`));
    // The proxy is a part of others.
    expect([...run, 'fetch-proxy.ts'].toSorted()).toEqual(files);
  });

  it.each(pages)('link from %s only to files that are there', (page) => {
    const targets = [...readProject(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
    expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
  });

  it('are all named in the list of recipes', () => {
    const index = readProject('docs/recipes/README.md');
    const named = pages.map((page) => page.split('/').at(-1) ?? '').filter((name) => index.includes(`](${name})`));
    expect([...named, 'README.md'].toSorted()).toEqual(readdirSync(join(root, 'docs/recipes')).toSorted());
  });
});
