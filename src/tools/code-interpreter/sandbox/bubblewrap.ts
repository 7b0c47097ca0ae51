/** The sandbox around a container's process: it contains nothing of the host except Node, the child's scripts and Pyodide. */

import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { killChild } from '../../../ports/processes/kill-child.ts';
import { lazily } from '../../../protocol/json/lazy-schema.ts';
import type { FilteredArch } from './allowed-system-calls.ts';
import { isolationError } from './isolation.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { startChild } from './start-child.ts';

/** A file or folder of the host, and its path in the sandbox. */
export type Bind = readonly [source: string, place: string];

/** The path of Node in the sandbox. */
export const NODE = '/node';

/** The descriptors of the filter and of bubblewrap's process report; it closes both before the process starts. */
const FILTER_FD = '3';
const INFO_FD = '4';

/**
 * Separate namespaces, an unprivileged user and group, no capabilities, and a root that contains only the bound paths.
 * With `--as-pid-1` the process that bubblewrap reports is then Node itself, which can be stopped and measured.
 */
export const ALONE = [
  ['--unshare-all', '--unshare-user', '--uid', '65534', '--gid', '65534', '--hostname', 'sandbox', '--cap-drop', 'ALL'],
  ['--new-session', '--die-with-parent', '--seccomp', FILTER_FD, '--info-fd', INFO_FD],
].flat();

const SHELL = '/bin/sh';
/** Long, so that a slow machine is not mistaken for one that refuses. */
const PROBE_MS = 60_000;
const run = promisify(execFile);
const libraryNames = lazily((z) => z.array(z.string()));

/** A working sandbox: builds command lines, and has the filter that belongs to them. */
export interface Bubblewrap {
  /** The arguments before the command; the command starts with `NODE`. */
  prefix(binds: readonly Bind[]): readonly string[];
  readonly filter: Uint8Array;
}

/** Tests it. Rejects with an error for the host if the system forbids it. */
export async function bubblewrap(program: string, arch: FilteredArch): Promise<Bubblewrap> {
  // The libraries that Node itself has loaded, including the loader; read from a Node that has loaded nothing else.
  const script = 'process.report.excludeNetwork = true; JSON.stringify(process.report.getReport().sharedObjects)';
  const options = { env: {}, cwd: '/', timeout: PROBE_MS };
  const { stdout } = await run(process.execPath, ['--print', script], options);
  // The kernel's own has no path.
  const libraries = libraryNames()
    .parse(JSON.parse(stdout))
    .filter((name) => name.startsWith('/') && name !== process.execPath);
  const filter = seccompFilter(arch);
  const node: readonly Bind[] = [[process.execPath, NODE], ...libraries.map((path): Bind => [path, path])];
  const folders = [...new Set(libraries.map((path) => dirname(path)))].join(':');

  function prefix(binds: readonly Bind[]): readonly string[] {
    const bound = [...node, ...binds].flatMap(([source, place]) => ['--ro-bind', source, place]);
    // Nothing is writable: there is no /tmp, /dev, /proc or /sys either, because Node needs none.
    const root = [...bound, '--remount-ro', '/', '--chdir', '/'];
    // Not `--clearenv`, which bubblewrap 0.4 does not support. The folders: the loader's cache, which would name them, is missing.
    return ['env', '-i', program, ...ALONE, '--as-pid-1', '--setenv', 'LD_LIBRARY_PATH', folders, ...root, '--'];
  }

  await probeSandbox(program, [...prefix([]), NODE, '--version'], filter);
  return { prefix, filter };
}

/** Rejects with an error for the host if the sandbox cannot be made. */
export async function probeSandbox(program: string, args: readonly string[], filter: Uint8Array): Promise<void> {
  const { child } = startChild({ command: SHELL, args: ['-c', 'exec "$@"', 'sh', ...args], filter });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => {});
  child.stdout.resume();
  const timer = setTimeout(() => killChild(child, 'SIGKILL'), PROBE_MS);
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  clearTimeout(timer);
  if (code !== 0) throw isolationError(program, stderr || `exit code ${code}`);
}
