/** How the process of a container is started: Node's own flags, and what the system can add around them. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ChildLimits } from './child/door.ts';
import type { PyodideLimits } from './pyodide-settings.ts';

/** A command line, and what it achieves. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Whether the process dies with this one even while it is stopped. */
  readonly diesWithHost: boolean;
  /** Whether it has no network but its own, empty one. */
  readonly ownNetwork: boolean;
}

type Wrapper = Pick<Launch, 'diesWithHost' | 'ownNetwork'> & { readonly words: readonly string[] };

const OWN_NETWORK = ['unshare', '--user', '--map-root-user', '--net', '--'];
const DIES = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs'];
const POWERLESS = ['--inh-caps=-all', '--bounding-set=-all'];

/** Programs of util-linux that end in the program that they are given; the strongest first. Containers often refuse `unshare`. */
const WRAPPERS: readonly Wrapper[] = [
  { words: [...OWN_NETWORK, ...DIES, ...POWERLESS, '--'], ownNetwork: true, diesWithHost: true },
  { words: [...OWN_NETWORK, ...DIES, '--'], ownNetwork: true, diesWithHost: true },
  { words: OWN_NETWORK, ownNetwork: true, diesWithHost: false },
  { words: [...DIES, ...POWERLESS, '--'], ownNetwork: false, diesWithHost: true },
  { words: [...DIES, '--'], ownNetwork: false, diesWithHost: true },
];

const NOTHING: Wrapper = { words: [], ownNetwork: false, diesWithHost: false };
const SHELL = '/bin/sh';
/** Long, so that a busy machine is not taken for one that refuses. */
const PROBE_MS = 60_000;
const run = promisify(execFile);

/** Where Pyodide is installed. Throws where it is not. */
export function pyodideFolder(resolve: (name: string) => string = createRequire(import.meta.url).resolve): string {
  try {
    return dirname(resolve('pyodide/package.json')) + sep;
  } catch (cause) {
    throw new Error("pyodideRuntime needs the package 'pyodide': npm install pyodide", { cause });
  }
}

let probing: Promise<Wrapper> | undefined;

/** The command line of a container's process; what the system allows is tried once. */
export async function launchOf(folder: string, limits: PyodideLimits): Promise<Launch> {
  probing ??= strongest(WRAPPERS);
  const { words, ...achieved } = await probing;
  const node = [process.execPath, ...nodeArgs(folder, limits)];
  if (process.platform === 'win32') return { ...achieved, command: process.execPath, args: node.slice(1) };
  return { ...achieved, command: SHELL, args: ['-c', `${ulimits(limits)} exec "$@"`, 'sh', ...words, ...node] };
}

async function strongest([first, ...rest]: readonly Wrapper[]): Promise<Wrapper> {
  if (!first || process.platform === 'win32') return NOTHING;
  try {
    // By way of the same shell, which knows where programs are though the environment is empty.
    await run(SHELL, ['-c', 'exec "$@"', 'sh', ...first.words, 'true'], { env: {}, cwd: '/', timeout: PROBE_MS });
    return first;
  } catch {
    return strongest(rest);
  }
}

const MIB = 1024 * 1024;
/** What Node and Python take before any code runs, outside the memory of WebAssembly. */
const BASE_MB = 192;
/** The kernel's own limit counts what was asked for and not only what is used; below it, the host has killed already. */
const SLACK_MB = 512;
/** The end of what escaped every other limit. */
const CPU_SECONDS = 3600;

/** No core files, no files on disk at all, few descriptors, so much data, so much processor time. */
function ulimits({ memoryMb }: PyodideLimits): string {
  const limits = ['-c 0', '-f 0', '-n 64', `-d ${(memoryMb + SLACK_MB) * 1024}`, `-t ${CPU_SECONDS}`];
  return limits.map((limit) => `ulimit ${limit} 2>/dev/null;`).join(' ');
}

function nodeArgs(folder: string, limits: PyodideLimits): readonly string[] {
  const { outputBytes, fileBytes, files, memoryMb } = limits;
  const inside: ChildLimits = { wasmBytes: (memoryMb - BASE_MB) * MIB, outputBytes, fileBytes, files };
  return [
    '--no-warnings',
    permissionFlag(process.allowedNodeEnvironmentFlags),
    `--allow-fs-read=${folder}`,
    `--allow-fs-read=${CHILD_FOLDER}`,
    '--disallow-code-generation-from-strings',
    '--no-addons',
    '--experimental-vm-modules',
    `--max-old-space-size=${memoryMb}`,
    join(CHILD_FOLDER, 'child/main.js'),
    folder,
    JSON.stringify(inside),
  ];
}

/** Without `--allow-net`, `--allow-child-process`, `--allow-worker` and the others, it takes all of that away. */
function permissionFlag(known: ReadonlySet<string>): string {
  return known.has('--permission') ? '--permission' : '--experimental-permission';
}

// Node runs only what is built: tests that run the sources use the build as well.
const HERE = fileURLToPath(new URL('.', import.meta.url));
const CHILD_FOLDER = import.meta.url.endsWith('.ts') ? join(HERE, '../../dist/code-interpreter', sep) : HERE;
