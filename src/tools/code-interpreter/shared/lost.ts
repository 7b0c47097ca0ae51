/** Why a container is gone, as text for the model. */
import { constants } from 'node:os';
import { ContainerLostError } from '../../../ports/hosted-tools/code-runtime.ts';

export function tooSlow(ms: number): ContainerLostError {
  return new ContainerLostError('timeout', `The code ran longer than ${ms} ms and was stopped; its container is gone.`);
}

export function tooLarge(bytes: number): ContainerLostError {
  const mib = Math.round(bytes / 1024 / 1024);
  return new ContainerLostError('memory', `The code took more than ${mib} MiB of memory; its container is gone.`);
}

export function tooManyThreads(threads: number): ContainerLostError {
  return new ContainerLostError('crash', `The code started more than ${threads} threads; its container is gone.`);
}

export function tooMuch(): ContainerLostError {
  return new ContainerLostError('output', 'The code gave back more than is allowed; its container is gone.');
}

export function closed(): ContainerLostError {
  return new ContainerLostError('closed', 'The container was closed.');
}

/** The process ended by itself; `words` is its last output. */
export function crashed(code: number | null, signal: NodeJS.Signals | null, words: string): ContainerLostError {
  const cause = words.trim() || undefined;
  if (/out of memory|allocation failed/i.test(words))
    return new ContainerLostError('memory', 'The code took too much memory; its container is gone.', { cause });
  const how = signal ?? signalOf(code) ?? `exit code ${code}`;
  return new ContainerLostError('crash', `The code crashed its container, which is gone (${how}).`, { cause });
}

/** Programs that wait for others, such as shells and bubblewrap, report a signal this way. */
function signalOf(code: number | null): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0];
}

export function brokenDown(): ContainerLostError {
  return new ContainerLostError('crash', 'The code broke Python down; its container is gone.');
}
