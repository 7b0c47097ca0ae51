/** Python in WebAssembly, each container in a process of its own that can reach nothing. */

import type { CodeRuntime } from '../ports/code-runtime.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import { launchOf, pyodideFolder } from './launch.ts';
import { processPool } from './pool.ts';
import { pyodideContainer } from './pyodide-container.ts';
import { type PyodideLimits, type PyodideRuntimeOptions, pyodideSettings } from './pyodide-settings.ts';
import { type SandboxProcess, sandboxProcess } from './sandbox-process.ts';

const MIB = 1024 * 1024;
/** For Python to load: 2 seconds where nothing else runs, and many times that where much does. */
const START_MS = 120_000;

/**
 * Runs Python with its standard library, in the folder `/mnt/data`; needs the package `pyodide`, and throws where it is not
 * installed. The first processes are started at once. What it guards against and what it does not is in docs/security.md.
 */
export function pyodideRuntime(options: PyodideRuntimeOptions = {}): CodeRuntime {
  const { limits, warm, maxContainers, warn } = pyodideSettings(options);
  const folder = pyodideFolder();
  const warnOnce = once(warn);
  const pool = processPool({
    start: (signal) => started(folder, limits, warnOnce, signal),
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

async function started(
  folder: string,
  limits: PyodideLimits,
  warn: (message: string) => void,
  signal: AbortSignal,
): Promise<SandboxProcess> {
  const launch = await launchOf(folder, limits);
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

function processLimits({ memoryMb, outputBytes, fileBytes }: PyodideLimits) {
  // A frame holds files in base64 and four texts, in which a byte may be written as `\u0000`.
  return { memoryBytes: memoryMb * MIB, frameBytes: 2 * fileBytes + 24 * outputBytes + MIB, startMs: START_MS };
}

function once(warn: (message: string) => void): (message: string) => void {
  let warned = false;
  return (message) => {
    if (!warned) warn(message);
    warned = true;
  };
}
