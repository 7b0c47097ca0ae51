/** Why a container is gone, as text for the model. */
import { constants } from 'node:os';
import { ContainerLostError } from '../../../ports/hosted-tools/code-runtime.ts';

export function memoryError(bytes: number): ContainerLostError {
  const mib = Math.round(bytes / 1024 / 1024);
  return new ContainerLostError('memory', `The code took more than ${mib} MiB of memory; its container is gone.`);
}

export function closedError(): ContainerLostError {
  return new ContainerLostError('closed', 'The container was closed.');
}

/** The process ended by itself; `stderr` is its last output. */
export function crashError(code: number | null, signal: NodeJS.Signals | null, stderr: string): ContainerLostError {
  const cause = stderr.trim() || undefined;
  if (/out of memory|allocation failed/i.test(stderr))
    return new ContainerLostError('memory', 'The code took too much memory; its container is gone.', { cause });
  // Programs that wait for others, such as shells and bubblewrap, report a signal this way.
  const reported = Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0];
  const how = signal ?? reported ?? `exit code ${code}`;
  return new ContainerLostError('crash', `The code crashed its container, which is gone (${how}).`, { cause });
}
