/**
 * Every escape attempt that is known from the sandbox of code, in that of a shell: by all of Node, and by real Python. A shell may do more,
 * such as start programs; what is the host's it must not touch either.
 */
import type { CodeContainer, CodeRuntime } from '../../src/ports/hosted-tools/code-runtime.ts';
import { bubblewrapRuntime } from '../../src/tools/shell/index.ts';
import { describeWith, findProgram } from '../support/services.ts';
import { ATTEMPTS, ENDLESS } from '../tools/code-interpreter/escapes.ts';
import { type HostBait, layBait, UNTOUCHED } from './host-bait.ts';
import { ATTEMPTS_SCRIPT, OUTER_ATTEMPTS } from './sandbox-outer-attempts.ts';
import { tally } from './tally.ts';

const { tried } = tally('the sandbox of a shell');

const PATIENCE = 240_000;
const NEVER = new AbortController().signal;

/** Those that end their container, or have no end of their own: each is a command of its own. */
const ALONE: ReadonlySet<string> = new Set([
  ...['kills everybody', 'reads /dev/zero', 'reads /dev/urandom', 'reads /proc/self/mem', 'reads /proc/kcore'],
  'finds a libc to load other than the libraries',
]);
const LONE_ATTEMPTS = Object.values(OUTER_ATTEMPTS)
  .flat()
  .filter(([name]) => ALONE.has(name));

/** What the sandbox of code refuses, and a shell may do: it has programs, processes and an empty network of its own. */
const MAY: ReadonlySet<string> = new Set([
  ...['/proc/self/environ', '/proc/1/environ', '/proc/1/cmdline', '/proc/self/maps', '/proc/self/mountinfo'].map(reads),
  ...['/proc/cpuinfo', '/proc/kallsyms', '/proc/sys/kernel/core_pattern', '/sys/class/net/lo/address'].map(reads),
  ...['/etc/ld.so.cache', '/bin/sh', '/usr/bin/env', '/dev/tty'].map(reads),
  ...['/etc', '/proc', '/proc/1/root', '/proc/self/fd', '/dev', '/dev/shm', '/dev/pts'].map((path) => `lists ${path}`),
  ...['/tmp', '/usr', '/mnt', '/bin'].map((path) => `lists ${path}`),
  ...['statfs of the host', 'reads a link of the kernel', 'finds anything in the root but what was bound'],
  ...['writes /tmp/x', 'changes the folder', 'sends a datagram', 'sends a datagram over IPv6', 'receives datagrams'],
  ...['listens', 'listens on an abstract name', 'listens for a debugger', 'makes a TCP of Node’s and binds it'],
  ...[
    'makes a UDP of Node’s and binds it',
    'starts a shell',
    'starts a command',
    'starts Node again',
    'starts the loader',
  ],
  ...['starts itself by /proc', 'forks a cluster', 'spawns detached', 'kills the first process', 'knows its parent'],
  ...['finds any other process', 'sees the environment', 'runs WASI on the host’s files'],
]);

function reads(path: string): string {
  return `reads ${path}`;
}

/** Those that need JavaScript around Python. */
const OF_PYODIDE = /pyodide|\bjs\b/;
const PYTHON = [...ATTEMPTS, ...ENDLESS].filter(([, code]) => !OF_PYODIDE.test(code({ file: '', port: 0, pid: 0 })));

/** Runs code as a prompt does: shows the value of its last expression, and awaits at its top. */
const PROMPT = `import ast, asyncio, inspect, sys
code = compile(sys.stdin.buffer.read(), 'code', 'exec', ast.PyCF_ONLY_AST)
last = code.body.pop() if code.body and isinstance(code.body[-1], ast.Expr) else None
space, flags = {'__name__': '__main__'}, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
async def run(tree, mode):
    value = eval(compile(tree, 'code', mode, flags), space)
    return await value if inspect.iscoroutine(value) else value
async def main():
    await run(code, 'exec')
    if last: print(repr(await run(ast.Expression(last.value), 'eval')))
asyncio.run(main())`;

describeWith(findProgram('bwrap'), 'bubblewrap')('the sandbox of a shell', () => {
  let runtime: CodeRuntime;
  let bait: HostBait;
  let container: CodeContainer | undefined;

  beforeAll(async () => {
    bait = await layBait();
    const limits = { runMs: 20_000, memoryMb: 512, diskMb: 32, processes: 32, outputBytes: 2_000_000 };
    runtime = bubblewrapRuntime({ limits });
  });
  afterAll(async () => {
    await runtime.close();
    bait.close();
  });

  /** What came of a command with these files, or how its container was lost. */
  async function ran(
    command: readonly string[] | string,
    files: Readonly<Record<string, string>> = {},
    timeoutMs = 20_000,
  ) {
    container = container?.alive ? container : await runtime.create(NEVER);
    for (const [name, text] of Object.entries(files)) await container.put({ name, data: Buffer.from(text) });
    const run = await container.exec?.({ command, timeoutMs }, NEVER).catch((error: unknown) => String(error));
    if (typeof run !== 'object') return { stdout: '', all: run ?? '' };
    const written = run.files.map(({ data }) => Buffer.from(data).toString('latin1'));
    return { stdout: run.stdout, all: [run.stdout, run.stderr, ...written].join('\n') };
  }

  it.each(Object.keys(OUTER_ATTEMPTS))(
    '[E-02] confines a program with all of Node: %s',
    async (group) => {
      const attempts = (OUTER_ATTEMPTS[group] ?? []).filter(([name]) => !ALONE.has(name));
      const codes = JSON.stringify(attempts.map(([, code]) => code));
      const command = ['/node', 'script.mjs', JSON.stringify(bait.bait), codes];
      const { stdout, all } = await ran(command, { 'script.mjs': ATTEMPTS_SCRIPT });
      expect(bait.touched(all)).toEqual(UNTOUCHED);
      // The cast: the script prints a list of texts.
      const outcomes = JSON.parse(stdout) as readonly string[];
      expect(outcomes.length).toBe(attempts.length);
      const done = attempts.filter(([name, , refusal], index) => {
        const outcome = outcomes[index] ?? '';
        return outcome.startsWith('DONE') && !refusal.test(outcome) && !MAY.has(name);
      });
      expect(done.map(([name]) => name)).toEqual([]);
      tried(group, attempts.length);
    },
    PATIENCE,
  );

  it.each(LONE_ATTEMPTS)(
    '[E-02] confines a program with all of Node, alone: %s',
    async (_name, code) => {
      const command = ['/node', 'script.mjs', JSON.stringify(bait.bait), JSON.stringify([code])];
      const { all } = await ran(command, { 'script.mjs': ATTEMPTS_SCRIPT }, 4000);
      expect(bait.touched(all)).toEqual(UNTOUCHED);
      expect((await ran('echo alive')).stdout).toBe('alive\n');
      tried('Node, alone');
    },
    PATIENCE,
  );

  it.each(PYTHON)(
    '[E-02] confines Python: %s',
    async (_name, code) => {
      const files = { 'prompt.py': PROMPT, 'code.py': code(bait.bait) };
      const { all } = await ran('python3 prompt.py < code.py', files, 4000);
      expect(bait.touched(all)).toEqual(UNTOUCHED);
      expect((await ran('rm -rf /mnt/data/* /tmp/*; echo alive')).stdout).toBe('alive\n');
      tried('Python');
    },
    PATIENCE,
  );
});
