/** How the process of a container is started: Node's own flags, and its isolation. */
import { dirname, join, sep } from 'node:path';
import { BUILD_FOLDER, requirePackage } from '../../../ports/host/package-files.cjs';
import type { ChildLimits } from '../shared/child-limits.ts';
import { type Bind, type Bubblewrap, bubblewrap, NODE } from './bubblewrap.ts';
import { inheritedDescriptors } from './inherited-descriptors.ts';
import type { Isolation } from './isolation.ts';
import { strongestWrapper, type Wrapper } from './process-only.ts';
import type { PyodideLimits } from './pyodide-settings.ts';
import type { Command } from './start-child.ts';

/** A command line, and the isolation that it achieves. */
export interface Launch extends Command {
  /** Whether the process dies with this one even while it is stopped. */
  readonly diesWithHost: boolean;
  /** Whether it has a separate, empty network. */
  readonly ownNetwork: boolean;
  /** Called when the process has ended, to remove what it has left elsewhere. */
  readonly cleanUp?: (() => Promise<void>) | undefined;
}

const SHELL = '/bin/sh';
/** The scripts of the process: ES modules, beside a `package.json` that declares them. */
const SCRIPTS = join(BUILD_FOLDER, 'sandbox');
const CHILD_FOLDER = join(SCRIPTS, 'code-interpreter', sep);

/** The folder of the Pyodide package. Throws if it is missing. */
export function pyodideFolder(resolve: (name: string) => string = requirePackage.resolve): string {
  try {
    return dirname(resolve('pyodide/package.json')) + sep;
  } catch (cause) {
    throw new Error("pyodideRuntime needs the package 'pyodide': npm install pyodide", { cause });
  }
}

let wrapper: Promise<Wrapper> | undefined;
const sandboxes = new Map<string, Promise<Bubblewrap>>();

/** The command line of a container's process. Rejects if the isolation does not work on this system. */
export function pyodideLaunch(folder: string, limits: PyodideLimits, isolation: Isolation): Promise<Launch> {
  const { outputBytes, fileBytes, files, memoryMb } = limits;
  const inside: ChildLimits = { wasmBytes: (memoryMb - BASE_MB) * MIB, outputBytes, fileBytes, files };
  return childLaunch({ folder, inside: JSON.stringify(inside), memoryMb }, isolation);
}

/** The command line of a program's process. Rejects as `pyodideLaunch` does. */
export function programLaunch(memoryMb: number, isolation: Isolation): Promise<Launch> {
  return childLaunch({ folder: undefined, inside: '{}', memoryMb }, isolation);
}

/** What runs in the process. */
interface ChildCode {
  /** Of Pyodide; undefined for programs in JavaScript. */
  readonly folder: string | undefined;
  /** Its own limits, as JSON. */
  readonly inside: string;
  readonly memoryMb: number;
}

async function childLaunch(code: ChildCode, isolation: Isolation): Promise<Launch> {
  const { folder } = code;
  if (isolation.name === 'process-only') {
    wrapper ??= strongestWrapper();
    const { prefix, ...achieved } = await wrapper;
    const args = nodeArgs({ pyodide: folder, child: CHILD_FOLDER }, code);
    const command =
      process.platform === 'win32'
        ? { command: process.execPath, args }
        : inShell([...prefix, process.execPath, ...args], code);
    return { ...achieved, ...command, inherited: await inheritedDescriptors() };
  }
  const { program, arch } = isolation;
  let sandbox = sandboxes.get(program);
  if (!sandbox) {
    // Success is remembered; a refusal is tested again, because it may change.
    sandbox = bubblewrap(program, arch);
    sandboxes.set(program, sandbox);
    sandbox.catch(() => sandboxes.delete(program));
  }
  const { prefix, filter } = await sandbox;
  const binds: readonly Bind[] = [
    // Declares to Node that the scripts are modules.
    [join(SCRIPTS, 'package.json'), '/sandbox/package.json'],
    [CHILD_FOLDER, PLACES.child],
    ...(folder === undefined ? [] : [[folder, PLACES.pyodide] as const]),
  ];
  const places = folder === undefined ? { ...PLACES, pyodide: undefined } : PLACES;
  const command = inShell([...prefix(binds), NODE, ...nodeArgs(places, code)], code);
  return { ...command, filter, diesWithHost: true, ownNetwork: true, inherited: await inheritedDescriptors() };
}

const MIB = 1024 * 1024;
/** The memory that Node and Python take before any code runs, outside WebAssembly's. */
const BASE_MB = 192;
/** The kernel's limit counts allocated and not only used memory; the host kills the process earlier. */
const SLACK_MB = 512;
/** The end of a run that escaped every other limit. */
const CPU_SECONDS = 3600;

/** Starts a command from a shell that sets limits: no core files, no disk files, few descriptors, and limited data and processor time. */
function inShell(command: readonly string[], { memoryMb }: ChildCode): Command {
  const limits = ['-c 0', '-f 0', '-n 64', `-d ${(memoryMb + SLACK_MB) * 1024}`, `-t ${CPU_SECONDS}`];
  const script = [...limits.map((limit) => `ulimit ${limit} 2>/dev/null;`), 'exec "$@"'].join(' ');
  return { command: SHELL, args: ['-c', script, 'sh', ...command] };
}

/** The paths that the process needs; folders end in a separator. */
interface Places {
  readonly pyodide: string | undefined;
  /** The folder of the scripts. */
  readonly child: string;
}

/** The paths in the sandbox, which shows no path of the host. */
const PLACES = { pyodide: '/pyodide/', child: '/sandbox/code-interpreter/' } as const;

function nodeArgs({ pyodide, child }: Places, { inside, memoryMb }: ChildCode): readonly string[] {
  return [
    '--no-warnings',
    // It denies everything without an `--allow-…` flag: network, child processes, workers and others.
    process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission',
    ...(pyodide === undefined ? [] : [`--allow-fs-read=${pyodide}`]),
    `--allow-fs-read=${child}`,
    '--disallow-code-generation-from-strings',
    '--no-addons',
    '--experimental-vm-modules',
    `--max-old-space-size=${memoryMb}`,
    join(child, 'child/main.js'),
    inside,
    ...(pyodide === undefined ? [] : [pyodide]),
  ];
}
