/** Each command of the documentation is run by a test, or named here with the reason why not. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Pages with the test that runs all of their commands, or holds them against the scripts that there are. */
const RUN_BY: Readonly<Record<string, string>> = {
  'README.md': 'test/examples/readme.test.ts',
  'docs/quick-start.md': 'test/package/quick-start.mjs',
};

/** Whether the tests of packages or of frameworks start this example, as its README says. */
function isStarted(page: string): boolean {
  const [, name] = /^examples\/([^/]+)\//.exec(page) ?? [];
  const files = ['test/package/examples.mjs', 'test/frameworks/frameworks.ts', 'test/frameworks/frameworks.test.ts'];
  return name !== undefined && files.some((file) => read(file).includes(`'${name}'`));
}

/** The commands of other pages: the page, how the command begins, and what runs it. */
const RUN = [
  ['docs/clients.md', 'MY_KEY=KEY codex', 'test/agents/documented.mjs'],
  ['docs/clients.md', 'CLAUDE_CODE_MAX_CONTEXT_TOKENS=', 'test/agents/documented.mjs'],
  ['docs/messages.md', 'CLAUDE_CODE_MAX_CONTEXT_TOKENS=', 'test/agents/documented.mjs'],
  ['docs/recipes/README.md', 'npm ci', 'test/examples/docs-commands.slow.test.ts'],
  ['docs/recipes/files.md', 'curl', 'test/examples/docs-commands.slow.test.ts'],
  ['docs/npx.md', 'npx ', 'test/package/consumers.mjs'],
] as const;

/** The same with the reason why no test runs it as it stands. */
const NOT_RUN = [
  ['CONTRIBUTING.md', 'npm ci', 'all scripts of the package, hours of them; the gate runs them'],
  [
    'docs/mcp.md',
    'claude mcp add',
    'wants a signed-in Claude Code; test/apis/mcp/eras.test.ts connects the same way with MCP clients',
  ],
  [
    'docs/multi-agent.md',
    'curl',
    'wants a model that begins agents; test/multi-agent/agents.test.ts sends the same request',
  ],
  [
    'docs/openapi.md',
    'curl',
    'installs a generator; test/clients/openapi-typescript.test.ts runs it over the same document',
  ],
  ['docs/npx.md', 'docker build', 'wants Docker; test/docker/run.sh builds and starts the image where it is'],
  ['docs/npx.md', 'UPSTREAM=', 'wants Docker; the same'],
  [
    'docs/recipes/any-provider.md',
    'npm install @ai-sdk/',
    'installs what this project has; test/examples/recipes-providers.test.ts runs the recipes with it',
  ],
  [
    'docs/recipes/batches.md',
    'curl',
    'wants an endpoint of its own to be told; test/examples/recipes-hosts.test.ts sends the same requests to the recipe',
  ],
  ['docs/sizing.md', 'npm run bench:sizing', 'takes ten minutes and measures this machine'],
] as const;

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'examples'), { recursive: true })
    .map((name) => `examples/${name}`)
    .filter((path) => path.endsWith('README.md') && !path.includes('node_modules')),
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => `docs/${name}`)
    .filter((path) => path.endsWith('.md')),
];

const commands = pages.flatMap((page) =>
  [...read(page).matchAll(/^```(?:sh|bash|shell|console)\n(.*?)^```$/gms)].map(([, text = '']) => ({ page, text })),
);

function reasonFor(page: string, text: string): string | undefined {
  return [...RUN, ...NOT_RUN].find(([where, start]) => where === page && text.startsWith(start))?.[2];
}

/** What a command installs is a peer of this package. */
function installsPeers(text: string): boolean {
  const [, names = ''] = /^npm install ([^\n]+)\n$/.exec(text) ?? [];
  const { peerDependencies } = JSON.parse(read('package.json'));
  return names !== '' && names.split(' ').every((name) => name in peerDependencies);
}

describe('the commands of the documentation', () => {
  it('are run by a test, install a peer dependency, or are named with a reason', () => {
    const unknown = commands.filter(
      ({ page, text }) =>
        !(page in RUN_BY || isStarted(page)) && !installsPeers(text) && reasonFor(page, text) === undefined,
    );
    expect(unknown).toEqual([]);
  });

  it('are named here only where they are there', () => {
    const stale = [...RUN, ...NOT_RUN].filter(
      ([where, start]) => !commands.some(({ page, text }) => page === where && text.startsWith(start)),
    );
    expect([stale, Object.keys(RUN_BY).filter((where) => !commands.some(({ page }) => page === where))]).toEqual([
      [],
      [],
    ]);
  });

  it('are run by tests that read the page', () => {
    const tests = [...RUN.map(([page, , test]) => [page, test] as const), ...Object.entries(RUN_BY)];
    const name = (page: string) => page.replace(/^docs\/(?!recipes)/, '');
    expect(tests.filter(([page, test]) => !read(test).includes(name(page)))).toEqual([]);
  });

  it('name scripts that there are', () => {
    const scriptsOf = (path: string) => Object.keys(JSON.parse(read(path)).scripts ?? {});
    const unknown = pages.flatMap((page) => {
      const own = `${dirname(page)}/package.json`;
      const scripts = [...scriptsOf('package.json'), ...(existsSync(join(root, own)) ? scriptsOf(own) : [])];
      const named = [...read(page).matchAll(/\bnpm run ([\w:-]+)/g)].map(([, script = '']) => script);
      return named.filter((script) => !scripts.includes(script)).map((script) => [page, script]);
    });
    expect(unknown).toEqual([]);
  });

  it('are in languages that these tests know', () => {
    const known = new Set('sh bash ts js json yaml toml python nginx http text mermaid'.split(' '));
    const languages = pages.flatMap((page) =>
      [...read(page).matchAll(/^```(\w*)[^\n]*\n.*?^```$/gms)].map(([, language = '']) => ({ page, language })),
    );
    expect(languages.filter(({ language }) => !known.has(language))).toEqual([]);
  });
});
