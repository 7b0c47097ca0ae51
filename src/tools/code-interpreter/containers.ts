/** Keeps containers between calls: one for each id of each scope, until unused for a while. */

import { checkOptions, milliseconds, type OptionCheck, positiveInteger } from '../../ports/host/options-check.ts';
import type { CodeContainer, CodeFile, CodeRun, CodeRuntime } from '../../ports/hosted-tools/code-runtime.ts';
import { limitScope } from '../../ports/scope.ts';
import { isRecord } from '../../protocol/record.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { type ContainerKey, type ContainerSlot, ContainerSlots } from './container-slots.ts';

/** The result of a run, and whether its container was fresh: no variables, and no files except those given. */
export interface ContainersRun extends CodeRun {
  /** True if nothing ran in this container before. */
  readonly fresh: boolean;
}

/** The containers of all scopes. */
export interface CodeContainers {
  /**
   * Runs the code in the container of that key, which is created if there is none, or none alive. Runs of one key run
   * one after another. Puts in the files whose names were not put into this container before. Rejects as
   * `CodeContainer.run` does; the next run of the key then gets a fresh container.
   */
  run(key: ContainerKey, code: string, files: readonly CodeFile[], signal: AbortSignal): Promise<ContainersRun>;
  /** Ends every container; the owner of the runtime closes it. May be called twice. */
  close(): Promise<void>;
}

/** `undefined` means omitted. */
export interface ContainersOptions {
  /** Creates the containers. Its owner closes it. */
  readonly runtime: CodeRuntime;
  /** How long an unused container is kept, in milliseconds. Default: 20 minutes. */
  readonly idleMs?: number | undefined;
  /** Maximum number of containers: the least recently used is evicted; if all run, calls wait. Default: 8. */
  readonly max?: number | undefined;
  /** The same for each scope. Default: 4. */
  readonly maxPerScope?: number | undefined;
}

/** The checks of the options, for callers that accept them among their own. */
export const containerChecks: Readonly<Record<keyof ContainersOptions, OptionCheck>> = {
  runtime: (value) => (isRecord(value) && typeof value.create === 'function') || 'a CodeRuntime',
  idleMs: milliseconds,
  max: positiveInteger,
  maxPerScope: positiveInteger,
};

/**
 * Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { containerRuntime, containers } from 'express-open-responses/code-interpreter';
 *
 * const pool = containers({ runtime: containerRuntime({ image: 'python:3.13-slim' }) });
 * const key = { scope: 'user-1', id: 'cntr_1' };
 * const { stdout } = await pool.run(key, 'print(6 * 7)', [], AbortSignal.timeout(30_000));
 * await pool.close();
 * ```
 */
export function containers(options: ContainersOptions): CodeContainers {
  checkOptions('containers', options, containerChecks);
  const { runtime, idleMs = 20 * 60_000, max = 8, maxPerScope = 4 } = options;
  const slots = new ContainerSlots({ idleMs, max, maxPerScope });

  async function runInSlot(slot: ContainerSlot, code: string, files: readonly CodeFile[], signal: AbortSignal) {
    signal.throwIfAborted();
    slots.closed.throwIfAborted();
    const fresh = !slot.container?.alive;
    const container = await liveContainer(slot, signal);
    for (const file of files.filter(({ name }) => !slot.names.has(name))) {
      await container.put(file);
      slot.names.add(file.name);
    }
    return { ...(await container.run(code, signal)), fresh };
  }

  async function liveContainer(slot: ContainerSlot, signal: AbortSignal): Promise<CodeContainer> {
    if (slot.container?.alive) return slot.container;
    slot.names.clear();
    slot.container = await runtime.create(signal, limitScope(slot.scope));
    if (slots.closed.aborted) await slot.container.close();
    slots.closed.throwIfAborted();
    return slot.container;
  }

  return {
    async run(key, code, files, signal) {
      const slot = await slots.acquire(key, signal);
      const work = slot.enqueue(() => runInSlot(slot, code, files, signal)).finally(() => slots.release(slot));
      // It may end after the caller was aborted.
      work.catch(() => {});
      return untilAborted(signal, () => work);
    },
    close: () => slots.close(),
  };
}
