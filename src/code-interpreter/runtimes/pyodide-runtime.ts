/** Python in WebAssembly, each container in a process of its own that can reach nothing. */

import type { CodeRuntime } from '../../ports/code-runtime.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { type Isolation, isolationOf } from '../sandbox/isolation.ts';
import { launchOf, pyodideFolder } from '../sandbox/launch.ts';
import { processPool } from '../sandbox/pool.ts';
import { type PyodideLimits, type PyodideRuntimeOptions, pyodideSettings } from '../sandbox/pyodide-settings.ts';
import { type SandboxProcess, sandboxProcess } from '../sandbox/sandbox-process.ts';
import { pyodideContainer } from './pyodide-container.ts';

const MIB = 1024 * 1024;
/** For Python to load: 2 seconds where nothing else runs, and many times that where much does. */
const START_MS = 120_000;

/**
 * Runs Python with its standard library, in the folder `/mnt/data`; needs the package `pyodide` and, on Linux, the program
 * `bwrap`, and throws where they are not installed. Elsewhere `isolation: 'process-only'` must be given. The first processes are
 * started at once. What it guards against and what it does not is in docs/security.md.
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

/** What the host reads and waits for at most, made of the limits. */
export function processLimits({ memoryMb, outputBytes, fileBytes, files }: PyodideLimits) {
  // Results and tracebacks are limited in characters, of up to four bytes.
  const textBytes = Math.min(12 * outputBytes + MIB, LONGEST_TEXT);
  const answer = { bytes: fileBytes + files * NAME_BYTES + textBytes + MIB, textBytes, files };
  return { memoryBytes: memoryMb * MIB, answer, startMs: START_MS };
}

/** Node has no longer strings than twice that. */
const LONGEST_TEXT = 256 * MIB;
/** The longest path, and what a file's frames take. */
const NAME_BYTES = 8192;

function once(warn: (message: string) => void): (message: string) => void {
  let warned = false;
  return (message) => {
    if (!warned) warn(message);
    warned = true;
  };
}
