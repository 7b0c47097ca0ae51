/** The direction of dependencies, and the sentence at the top of every file. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '../../src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));

/** What the core may not know: frameworks, Node's HTTP, and the layers that know them. */
const OUTSIDE = [
  /^express$/,
  /^(node:)?https?$/,
  /^(node:)?http2$/,
  /^src\/express\//,
  /^src\/middleware\//,
  /^src\/node\//,
];

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** What the file imports or exports from: package names, and paths of ours from the project's root. */
function importsOf(file: string): readonly string[] {
  const text = textOf(file).replace(/^\s*(\/\*\*?|\*|\/\/).*$/gm, '');
  const found = text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)['"]([^'"]+)['"]/g);
  return [...found].map(([, path = '']) =>
    path.startsWith('.') ? join('src', relative(root, join(root, dirname(file), path))) : path,
  );
}

/** Everything that the file reaches through files of ours, itself included. */
function reachOf(file: string, seen = new Set<string>()): ReadonlySet<string> {
  for (const path of importsOf(file)) {
    if (seen.has(path)) continue;
    seen.add(path);
    if (path.startsWith('src/')) reachOf(path.slice('src/'.length), seen);
  }
  return seen;
}

function isOutside(path: string): boolean {
  return OUTSIDE.some((pattern) => pattern.test(path));
}

describe('src', () => {
  it('[X-03] has a core that reaches no framework, not even through others', () => {
    const core = files.filter((file) => file.startsWith('core/'));
    const wrong = core.flatMap((file) => [...reachOf(file)].filter(isOutside).map((path) => `${file} → ${path}`));
    expect([core.length > 20, wrong]).toEqual([true, []]);
  });

  it('[X-03] sees Express where it is imported, so that the rule above can fail', () => {
    expect([...reachOf('express/responses-router.ts')].filter(isOutside)).toEqual(
      expect.arrayContaining(['express', 'src/express/handle.ts', 'node:http']),
    );
  });

  it('[X-09] imports OpenTelemetry in its own entry alone, so that it costs nobody else anything', () => {
    const importing = files.filter((file) => importsOf(file).some((path) => path.startsWith('@opentelemetry/')));
    const reaching = files.filter(
      (file) => !file.startsWith('otel/') && [...reachOf(file)].some((path) => path.startsWith('src/otel/')),
    );
    expect([importing.every((file) => file.startsWith('otel/')), importing.length > 0, reaching]).toEqual([
      true,
      true,
      [],
    ]);
  });

  it('imports only files that are there', () => {
    const missing = files.flatMap((file) =>
      importsOf(file).filter((path) => path.startsWith('src/') && !existsSync(join(root, '..', path))),
    );
    expect(missing).toEqual([]);
  });

  it('opens every file with one sentence', () => {
    const silent = files.filter((file) => !/^\/\*\* ?[^@\s](?:[^*]|\*(?!\/))*[.:!?] ?\n? ?\*\/\n/.test(textOf(file)));
    expect(silent).toEqual([]);
  });
});
