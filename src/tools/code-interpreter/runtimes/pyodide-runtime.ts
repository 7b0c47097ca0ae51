/** Python in WebAssembly, each container in a process of its own without access to anything. */

import type { CodeRuntime } from '../../../ports/hosted-tools/code-runtime.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { resolveIsolation } from '../sandbox/isolation.ts';
import { pyodideFolder, pyodideLaunch } from '../sandbox/launch.ts';
import { ProcessPool } from '../sandbox/pool.ts';
import { type PyodideLimits, type PyodideRuntimeOptions, pyodideSettings } from '../sandbox/pyodide-settings.ts';
import { sandboxProcess } from '../sandbox/sandbox-process.ts';
import { processContainer } from './pyodide-container.ts';

const MIB = 1024 * 1024;
/** The timeout for loading Python, which takes 2 seconds on an idle machine and many times that on a busy one. */
const MAX_START_MS = 120_000;

/**
 * Runs Python with its standard library, in the folder `/mnt/data`; needs the package `pyodide` and, on Linux, the program
 * `bwrap`, and throws if they are not installed. Elsewhere `isolation: 'process-only'` is required. The first processes
 * start at once. docs/security.md lists what it protects against and what it does not.
 */
export function pyodideRuntime(options: PyodideRuntimeOptions = {}): CodeRuntime {
  const { limits, warm, maxContainers, isolation: name, warn } = pyodideSettings(options);
  const folder = pyodideFolder();
  const isolation = resolveIsolation(name);
  let hasWarnedOfNetwork = false;
  const pool = new ProcessPool({
    async start(signal) {
      const launch = await pyodideLaunch(folder, limits, isolation);
      if (!launch.ownNetwork && !hasWarnedOfNetwork) {
        hasWarnedOfNetwork = true;
        warn(NO_NETWORK_NAMESPACE);
      }
      signal.throwIfAborted();
      const process = sandboxProcess(launch, processLimits(limits));
      try {
        await untilAborted(signal, () => process.ready);
        return process;
      } catch (error) {
        process.end();
        throw error;
      }
    },
    warm: Math.min(warm, maxContainers),
    max: maxContainers,
    onFailure: (error) => warn(`pyodideRuntime: no container could be kept ready: ${error}`),
  });

  return {
    name: 'pyodide',
    memoryBytes: limits.memoryMb * MIB,
    fileBytes: limits.fileBytes,
    maxContainers,
    create: async (signal, tenant = '') => processContainer(await pool.take(signal, tenant), limits),
    close: () => pool.close(),
  };
}

const NO_NETWORK_NAMESPACE =
  'pyodideRuntime: this system gives containers no network namespace of their own (unshare); the other layers stand.';

/** What the host reads and waits for at most, computed from the limits. */
export function processLimits({ memoryMb, outputBytes, fileBytes, files }: PyodideLimits) {
  // Results and tracebacks are limited in characters, of up to four bytes.
  const textBytes = Math.min(12 * outputBytes + MIB, MAX_TEXT_LENGTH);
  const answer = { bytes: fileBytes + files * MAX_NAME_BYTES + textBytes + MIB, textBytes, files };
  return { memoryBytes: memoryMb * MIB, answer, startMs: MAX_START_MS };
}

/** Node's longest string is twice as long. */
const MAX_TEXT_LENGTH = 256 * MIB;
/** The longest path, and the bytes of a file's frames. */
const MAX_NAME_BYTES = 8192;
