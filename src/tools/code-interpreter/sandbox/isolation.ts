/** Selects the isolation of a container's process, from the host's option and the system. */

import { findProgram } from '../../../ports/host/find-program.ts';
import type { FilteredArch } from './allowed-system-calls.ts';
import { isFilteredArch } from './seccomp-filter.ts';

/** The values of the host's option. */
export const ISOLATIONS = ['bubblewrap', 'process-only'] as const;

/** `bubblewrap`: a sandbox of the system around the process. `process-only`: none, only the restrictions of Node and the process. */
export type IsolationName = (typeof ISOLATIONS)[number];

/** The isolation with what it needs. */
export type Isolation =
  | { readonly name: 'bubblewrap'; readonly program: string; readonly arch: FilteredArch }
  | { readonly name: 'process-only' };

/** The properties of the system; tests pass another system. */
interface IsolationSystem {
  readonly platform: string;
  readonly arch: string;
  readonly path: string | undefined;
}

const ALTERNATIVES =
  "use containerRuntime(), or accept a sandbox that has only Node's own walls with isolation: 'process-only'";

/** Throws an `Error` that names what to install or which option to set if this system does not support the isolation. */
export function resolveIsolation(
  name: IsolationName,
  system: IsolationSystem = { platform: process.platform, arch: process.arch, path: process.env.PATH },
  owner = 'pyodideRuntime',
): Isolation {
  const alternatives = owner === 'pyodideRuntime' ? ALTERNATIVES : 'or use containerRuntime()';
  if (name === 'process-only') return { name };
  const { platform, arch, path } = system;
  if (platform !== 'linux')
    throw new Error(`${owner}: its isolation, bubblewrap, is there on Linux only, not on ${platform}: ${alternatives}`);
  if (!isFilteredArch(arch))
    throw new Error(`${owner}: there is no filter of system calls for the processor ${arch}: ${alternatives}`);
  const program = findProgram('bwrap', path);
  if (!program)
    throw new Error(
      `${owner} needs bubblewrap, and finds no program 'bwrap': install the package bubblewrap (apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap), ${alternatives}`,
    );
  return { name, program, arch };
}

/** The error of a program that is installed but cannot create a sandbox; `stderr` is its own message. */
export function isolationError(program: string, stderr: string): Error {
  const why = 'It needs user namespaces, which some systems and most containers forbid';
  return new Error(
    `pyodideRuntime: bubblewrap (${program}) cannot make a sandbox here: ${stderr.trim()}. ${why}: allow them, ${ALTERNATIVES}`,
  );
}
