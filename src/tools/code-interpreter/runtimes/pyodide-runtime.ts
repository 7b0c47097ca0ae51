/** Python in WebAssembly, each container in a process of its own without access to anything. */

import type { CodeRuntime } from '../../../ports/hosted-tools/code-runtime.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { type Isolation, isolationOf } from '../sandbox/isolation.ts';
import { launchOf, pyodideFolder } from '../sandbox/launch.ts';
import { processPool } from '../sandbox/pool.ts';
import { type PyodideLimits, type PyodideRuntimeOptions, pyodideSettings } from '../sandbox/pyodide-settings.ts';
import { type SandboxProcess, sandboxProcess } from '../sandbox/sandbox-process.ts';
import { pyodideContainer } from './pyodide-container.ts';

const MIB = 1024 * 1024;
/** The timeout for loading Python, which takes 2 seconds on an idle machine and many times that on a busy one. */
const START_MS = 120_000;

/**
 * Runs Python with its standard library, in the folder `/mnt/data`; needs the package `pyodide` and, on Linux, the program
 * `bwrap`, and throws if they are not installed. Elsewhere `isolation: 'process-only'` is required. The first processes
 * start at once. docs/security.md lists what it protects against and what it does not.
 */
export function pyodideRuntime(options: PyodideRuntimeOptions = {}): CodeRuntime {
  const { limits, warm, maxContainers, isolation: name, warn } = pyodideSettings(options);
  const folder = pyodideFolder();
  const isolation = isolationOf(name);
  const warnOnce = once(warn);
  const pool = processPool({
    start: (signal) => started({ folder, limits, isolation, warn: warnOnce }, signal),
    warm: Math.min(warm, maxContainers),
    max: maxContainers,
    onFailure: (error) => warn(`pyodideRuntime: no container could be kept ready: ${error}`),
  });

  return {
    name: 'pyodide',
    create: async (signal) => pyodideContainer(await pool.take(signal), limits),
    close: () => pool.close(),
  };
}

interface Started {
  readonly folder: string;
  readonly limits: PyodideLimits;
  readonly isolation: Isolation;
  readonly warn: (message: string) => void;
}

async function started(options: Started, signal: AbortSignal): Promise<SandboxProcess> {
  const { folder, limits, isolation, warn } = options;
  const launch = await launchOf(folder, limits, isolation);
  if (!launch.ownNetwork) warn(NO_NETWORK_NAMESPACE);
  signal.throwIfAborted();
  const process = sandboxProcess(launch, processLimits(limits));
  try {
    await untilAborted(signal, () => process.ready);
    return process;
  } catch (error) {
    process.end();
    throw error;
  }
}

const NO_NETWORK_NAMESPACE =
  'pyodideRuntime: this system gives containers no network namespace of their own (unshare); the other layers stand.';

/** What the host reads and waits for at most, computed from the limits. */
export function processLimits({ memoryMb, outputBytes, fileBytes, files }: PyodideLimits) {
  // Results and tracebacks are limited in characters, of up to four bytes.
  const textBytes = Math.min(12 * outputBytes + MIB, MAX_TEXT_LENGTH);
  const answer = { bytes: fileBytes + files * NAME_BYTES + textBytes + MIB, textBytes, files };
  return { memoryBytes: memoryMb * MIB, answer, startMs: START_MS };
}

/** Node's longest string is twice as long. */
const MAX_TEXT_LENGTH = 256 * MIB;
/** The longest path, and the bytes of a file's frames. */
const NAME_BYTES = 8192;

function once(warn: (message: string) => void): (message: string) => void {
  let warned = false;
  return (message) => {
    if (!warned) warn(message);
    warned = true;
  };
}
