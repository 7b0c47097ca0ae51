/** CPython in containers of Docker or Podman, one process of the program for each. */

import { findProgram } from '../../../ports/host/find-program.ts';
import { type CodeRuntime, ContainerLostError } from '../../../ports/hosted-tools/code-runtime.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { ProcessPool } from '../sandbox/pool.ts';
import { type SandboxProcess, sandboxProcess } from '../sandbox/sandbox-process.ts';
import { containerLaunch } from './container-launch.ts';
import { type ContainerRuntimeOptions, type ContainerSettings, containerSettings } from './container-settings.ts';
import { processContainer } from './pyodide-container.ts';
import { processLimits } from './pyodide-runtime.ts';
import { withCommands } from './python-commands.ts';

const MIB = 1024 * 1024;

/**
 * Runs the Python of an image, with all packages installed in it, in the folder `/mnt/data`. Needs Docker or Podman, and throws if
 * the program is missing; a container that cannot be started rejects with the program's message. docs/security.md lists what it
 * protects against and what it does not.
 */
export function containerRuntime(options: ContainerRuntimeOptions): CodeRuntime {
  const settings = containerSettings(options);
  const { program, limits, warm, maxContainers, warn } = settings;
  if (!findProgram(program))
    throw new Error(
      `containerRuntime: there is no program '${program}'; install Docker or Podman, or name it in 'program'`,
    );
  const pool = new ProcessPool({
    start: (signal) => startContainer(settings, signal),
    warm: Math.min(warm, maxContainers),
    max: maxContainers,
    onFailure: (error) => warn(`containerRuntime: no container could be kept ready: ${error}`),
  });

  return {
    name: 'container',
    runsCommands: true,
    memoryBytes: limits.memoryMb * MIB,
    fileBytes: limits.fileBytes,
    maxContainers,
    create: async (signal, tenant = '') =>
      withCommands(processContainer(await pool.take(signal, tenant), limits), limits.runMs),
    close: () => pool.close(),
  };
}

async function startContainer(settings: ContainerSettings, signal: AbortSignal): Promise<SandboxProcess> {
  signal.throwIfAborted();
  // The kernel counts the container's memory; that of the program is separate.
  const limits = { ...processLimits(settings.limits), memoryBytes: Number.POSITIVE_INFINITY };
  const process = sandboxProcess(containerLaunch(settings), limits);
  try {
    await untilAborted(signal, () => process.ready);
    return process;
  } catch (error) {
    process.end();
    if (!(error instanceof ContainerLostError)) throw error;
    const { program, image } = settings;
    const reason = typeof error.cause === 'string' ? error.cause : error.message;
    const message = `containerRuntime: ${program} could not start a container of ${image}: ${reason}`;
    throw new Error(message, { cause: error });
  }
}
