/**
 * Writes docs/conformance.md: the suites, and the clients and model servers that they test with, in the versions of the lock files. The counts are those of the last
 * `.ci/run` and `.ci/full`, which leave them in build/results.tsv; without that file they stay as they are. `--check` only compares, apart from the counts.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const PAGE = join(root, 'docs/conformance.md');
const RESULTS = join(root, 'build/results.tsv');

/** The suites by their names in `.ci/run`, without versions: what each proves, and its files. */
const SUITES = [
  ['tests', 'npm test', 'every behaviour, over real HTTP, with a model server that replays answers', isFast],
  [
    'slow tests',
    'npm run test:slow',
    'recorded answers byte by byte, floods, outages, laws over thousands of turns',
    /\.slow\.test\.ts$/,
  ],
  ['clients', 'npm run test:clients', 'the packages below, as their users install them', /^clients\//],
  ['frameworks', 'npm run test:frameworks', 'the examples of other frameworks, as processes', /^frameworks\//],
  ['hostile tests', 'npm run test:hostile', 'attacks, and what each of them tried', /^hostile\//],
  ['cluster', 'npm run test:cluster', 'processes that are killed, over Redis and PostgreSQL', /^cluster\//],
  ['browser', 'npm run test:browser', 'the inspector and this site in Chromium', /^browser\//],
];
const OWN_COMMAND = /^(frameworks|clients|hostile|cluster|browser)\//;

function isFast(path) {
  return !OWN_COMMAND.test(path) && !path.endsWith('.slow.test.ts');
}

const read = (path) => readFileSync(join(root, path), 'utf8');

/** The packages that are clients; the others in the lock files are tools. */
const CLIENTS = /^(openai\d?|ai\d?|ai-sdk-.*|@(ai-sdk|anthropic-ai|langchain|openai|openrouter)\/.*)$/;
const MCP = /^@modelcontextprotocol\//;
const DATABASES = /^(redis|ioredis|pg|libsql|bullmq)$/;

/** Name and version of the direct dependencies that a lock file has. */
function locked(folder, pattern) {
  const { packages } = JSON.parse(read(join(folder, 'package-lock.json')));
  const names = Object.keys({ ...packages[''].dependencies, ...packages[''].devDependencies });
  return names
    .filter((name) => pattern.test(name))
    .map((name) => [packages[`node_modules/${name}`].name ?? name, packages[`node_modules/${name}`].version]);
}

function agents() {
  const found = read('test/agents/scenes.mjs').matchAll(/^ {2}'(?:[\w-]+@npm:)?(@?[^@']+)@(\d[\d.]*)[^']*',$/gm);
  return [...found].map(([, name, version]) => [name, version]);
}

function pythons() {
  const files = readdirSync(join(root, 'test/clients')).filter((name) => name.endsWith('.test.ts'));
  return files.flatMap((name) =>
    [...read(`test/clients/${name}`).matchAll(/pythonPackage\('([\w-]+)', '([\d.]+)'/g)].map(([, each, version]) => [
      each,
      version,
    ]),
  );
}

function table(heads, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

function versions(heads, pairs) {
  const unique = new Map(pairs.map(([name, version]) => [`${name} ${version}`, [`\`${name}\``, version]]));
  return table(
    heads,
    [...unique.keys()].toSorted().map((key) => unique.get(key)),
  );
}

/** Passed tests, failed tests and the day of a suite's last run; those on the page where there are no newer ones. */
function countsOf(suite) {
  const lines = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8').trimEnd().split('\n') : [];
  const [, passed, failed, day] = lines.map((line) => line.split('\t')).find(([name]) => name === suite) ?? [];
  if (passed !== undefined) return [passed, failed, day];
  const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
  return (
    page.match(new RegExp(`^\\| ${suite} \\|.*\\| (\\S+) \\| (\\S+) \\| (\\S+) \\|$`, 'm'))?.slice(1) ?? ['–', '–', '–']
  );
}

function suites() {
  const paths = readdirSync(join(root, 'test'), { recursive: true }).filter(
    (path) => path.endsWith('.test.ts') && !path.includes('node_modules'),
  );
  const rows = SUITES.map(([name, command, shows, files]) => {
    const isIts = typeof files === 'function' ? files : (path) => files.test(path);
    return [name, `\`${command}\``, shows, paths.filter(isIts).length, ...countsOf(name)];
  });
  return table(['Suite', 'Command', 'Shows', 'Files', 'Passed', 'Failed', 'Day'], rows);
}

/** The rows of docs/providers.md, by what they were tested with. */
function providers() {
  const rows = [
    ...read('docs/providers.md').matchAll(
      /^\| `([\w.-]+)` \|.*\| ((?:recordings|documentation only|reports)[^|]*) \|$/gm,
    ),
  ];
  return table(
    ['Model server', 'Tested with'],
    rows.map(([, name, how]) => [`\`${name}\``, how]),
  );
}

const page = `# Conformance

This page lists the test suites of this version, and the versions of everything that they test with. \`npm run docs:conformance\` writes it from the lock files and the tests.
Counts and days come from the last runs of \`.ci/run\` and \`.ci/full\`; a dash means that no run has recorded them yet.

## Suites

${suites()}

The suites run on Node 20. \`npm test\` also runs on Node 24 and, where a test depends on Node itself, on Node 22; everything that uses Express also runs on Express 4.
\`test/acceptance\` makes the assertions of the Open Responses acceptance suite, over HTTP and WebSocket and under the names of its tests, on the examples for Express, Hono and Koa.

The snippets of these pages are tested too: \`npm run test:slow\` runs them, and \`npm run test:package\` compiles them with three versions of TypeScript and follows the
[quick start](quick-start.md) from an empty folder to Codex.

## Clients

The newest versions of these and of more clients, and what they can, are in [clients](clients.md#what-is-tested). The tests in depth use these:

${versions(['Package', 'Version'], [...locked('', CLIENTS), ...locked('test/clients', CLIENTS)])}

In Python:

${versions(['Package', 'Version'], pythons())}

Coding agents, which run commands and edit files (\`npm run test:agents\`):

${versions(['Package', 'Version'], agents())}

## MCP

${versions(['Package', 'Version'], [...locked('', MCP), ...locked('test/clients', MCP)])}

## Databases

${versions(['Package', 'Version'], locked('', DATABASES))}

## Model servers

Recordings are real answers, which the tests replay. No test calls a live model server: [how it was tested](providers.md#how-it-was-tested).

${providers()}
`;

/** Without the counts and days, which need runs, and the number of files. */
const bare = (text) => text.replace(/^(\| [\w ]+ \| `npm .*?`.*?) \|( \S+ \|){4}$/gm, '$1');

if (!process.argv.includes('--check')) writeFileSync(PAGE, page);
else if (bare(readFileSync(PAGE, 'utf8')) !== bare(page)) {
  console.error('docs/conformance.md is not what `npm run docs:conformance` writes.');
  process.exitCode = 1;
}
