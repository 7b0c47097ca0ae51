/** The floors of src: who may import whom, and that nothing goes round in circles. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { circlesIn, graphOf, type Import, importsOf, ownImports, sourceFiles, sourceText } from './source-graph.ts';

/** A room imports from itself and from rooms of a lower rank. */
const RANKS: Readonly<Record<string, number>> = {
  protocol: 0,
  // Plain streams: they know no port.
  streams: 0.5,
  ports: 1,
  engine: 2,
  'apis/endpoint': 3,
  'apis/responses': 4,
  'apis/batches': 4,
  'apis/chat-completions': 4,
  'apis/containers': 4,
  'apis/conversations': 4,
  'apis/files': 4,
  'apis/mcp': 4,
  'apis/messages': 4,
  'apis/traces': 4,
  'apis/vector-stores': 4,
  'apis/dialects': 4,
  'apis/background': 4,
  'apis/skills': 4,
  server: 5,
  'hosts/node': 6,
  'hosts/web': 7,
  'hosts/express': 8,
  'hosts/middleware': 7,
  'hosts/websocket': 7,
  // The program: a host of its own, on Node's HTTP server.
  'hosts/cli': 8,
};
/** What a host plugs in knows only the words and the ports. Each names what else it may import. */
const ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  upstreams: [],
  stores: [],
  'tools/egress': [],
  'tools/functions': [],
  // Servers that a request names are reached through the guard.
  'tools/mcp': ['tools/egress'],
  'tools/code-interpreter': [],
  'tools/documents': [],
  'tools/image-generation': [],
  // Its sandbox is that of code, with another filter and other programs; what its commands reach is checked by the guard.
  'tools/shell': ['tools/code-interpreter', 'tools/egress'],
  'tools/skills': [],
  // Pages that a model opens are reached through the guard.
  'tools/web-search': ['tools/egress'],
  // URLs that tools are called with are checked by its policy.
  'policies/guards': ['tools/egress'],
  // A middleware, and what the routers receive as their option `budget`, by its port.
  'policies/budgets': ['engine', 'hosts/node', 'hosts/middleware'],
  // They wrap what the routers are given, and see what an endpoint is asked.
  'observe/inspector': ['engine'],
  'observe/otel': ['engine'],
  // Contracts hold what the engine expects of what a host plugs in.
  testing: ['engine'],
};
const HIGHEST_OF_ADAPTERS = 1;
/** From here on, what a host plugs in may be chosen as a default. */
const SERVER = 5;
/** Rooms whose folders are rooms of their own. */
const DIVIDED = ['apis', 'hosts', 'tools', 'policies', 'observe'];

const FRAMEWORKS = /^(express|koa|hono|connect|ws|(node:)?https?|(node:)?http2)$/;

function roomOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return DIVIDED.includes(first) ? `${first}/${second}` : first;
}

function isEntry(file: string): boolean {
  return !file.includes('/');
}

function isAllowed({ from, to }: Import): boolean {
  const [room, target] = [roomOf(from), roomOf(to)];
  if (room === target || isEntry(from)) return true;
  const extra = ADAPTERS[room];
  if (extra) return extra.includes(target) || (RANKS[target] ?? Number.POSITIVE_INFINITY) <= HIGHEST_OF_ADAPTERS;
  const rank = RANKS[room] ?? -1;
  return target in ADAPTERS ? rank >= SERVER : (RANKS[target] ?? Number.POSITIVE_INFINITY) < rank;
}

function textOf({ from, to, names }: Import): string {
  return `${from} → ${to} ${names}`;
}

/** Everything that the file reaches through files of ours, itself included. */
function reachOf(file: string, seen = new Set<string>()): ReadonlySet<string> {
  for (const { to, isOurs } of importsOf(file)) {
    if (seen.has(to)) continue;
    seen.add(to);
    if (isOurs) reachOf(to, seen);
  }
  return seen;
}

describe('src', () => {
  it('[Q-08] has only rooms that are in the table', () => {
    const unknown = sourceFiles.filter((file) => !isEntry(file) && !(roomOf(file) in { ...RANKS, ...ADAPTERS }));
    expect(unknown).toEqual([]);
  });

  it('[Q-08] imports downwards only', () => {
    expect(ownImports.filter((each) => !isAllowed(each)).map(textOf)).toEqual([]);
  });

  it('[Q-08] would see an import that goes up, sideways, or from an adapter into the server', () => {
    const wrong = [
      ['ports/store.ts', 'engine/turn/machine/machine.ts'],
      ['engine/turn/machine/machine.ts', 'apis/responses/create.ts'],
      ['apis/messages/create.ts', 'apis/responses/create.ts'],
      ['apis/responses/create.ts', 'stores/memory/memory-store.ts'],
      ['stores/memory/memory-store.ts', 'server/options/options.ts'],
    ].map(([from = '', to = '']) => ({ from, to, names: '{ name }', isOurs: true }));
    expect(wrong.filter(isAllowed)).toEqual([]);
  });

  it('[Q-08] has no circle of files, types included', () => {
    expect(circlesIn(graphOf(ownImports, (file) => file))).toEqual([]);
  });

  it('[Q-08] has no circle of folders', () => {
    const inFolders = ownImports.filter(({ from, to }) => !isEntry(from) && !isEntry(to));
    expect(circlesIn(graphOf(inFolders, dirname))).toEqual([]);
  });

  it('[Q-08] would see a circle', () => {
    const edges = [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
      ['c', 'd'],
    ].map(([from = '', to = '']) => ({ from, to, names: '', isOurs: true }));
    expect(circlesIn(graphOf(edges, (file) => file)).map((circle) => circle.toSorted())).toEqual([['a', 'b', 'c']]);
  });

  it('[X-03] reaches no framework below the hosts, not even through others', () => {
    const below = sourceFiles.filter((file) => (RANKS[roomOf(file)] ?? Number.POSITIVE_INFINITY) <= SERVER);
    const wrong = below.flatMap((file) =>
      [...reachOf(file)].filter((path) => FRAMEWORKS.test(path)).map((path) => `${file} → ${path}`),
    );
    expect([below.length > 100, wrong]).toEqual([true, []]);
  });

  it('[X-03] sees Express where it is imported, so that the rule above can fail', () => {
    expect([...reachOf('hosts/express/responses-router.ts')]).toEqual(expect.arrayContaining(['express', 'node:http']));
  });

  it('[X-09] imports OpenTelemetry in its own entry alone, so that it costs nobody else anything', () => {
    const importing = sourceFiles.filter((file) => importsOf(file).some(({ to }) => to.startsWith('@opentelemetry/')));
    const reaching = sourceFiles.filter(
      (file) =>
        !file.startsWith('observe/otel/') && [...reachOf(file)].some((path) => path.startsWith('observe/otel/')),
    );
    expect([importing.every((file) => file.startsWith('observe/otel/')), importing.length > 0, reaching]).toEqual([
      true,
      true,
      [],
    ]);
  });

  it('imports only files that are there', () => {
    const root = join(import.meta.dirname, '../../src');
    expect(ownImports.filter(({ to }) => !existsSync(join(root, to))).map(textOf)).toEqual([]);
  });

  it('opens every file with one sentence', () => {
    const silent = sourceFiles.filter(
      (file) => !/^\/\*\* ?[^@\s](?:[^*]|\*(?!\/))*[.:!?] ?\n? ?\*\/\n/.test(sourceText(file)),
    );
    expect(silent).toEqual([]);
  });
});
