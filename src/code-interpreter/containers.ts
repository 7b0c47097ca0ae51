/** Keeps containers between calls: one for each id of each scope, until nobody has used it for a while. */

import type { CodeContainer, CodeFile, CodeRun, CodeRuntime } from '../ports/code-runtime.ts';
import { checkOptions, milliseconds, type OptionCheck, positiveInteger } from '../ports/host/options-check.ts';
import { isRecord } from '../protocol/record.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import { type ContainerKey, containerShelf, type Place } from './container-shelf.ts';

/** What a run gave, and whether it began with nothing: no variables, and no files but those given. */
export interface ContainersRun extends CodeRun {
  readonly fresh: boolean;
}

/** The containers of all scopes. */
export interface CodeContainers {
  /**
   * Runs the code in the container of that key, which is made where there is none, or none that lives. Runs of one key are
   * one after another. Files are put in under names that were not put into this container before. Rejects as
   * `CodeContainer.run` does; the next run of the key is then a fresh one.
   */
  run(key: ContainerKey, code: string, files: readonly CodeFile[], signal: AbortSignal): Promise<ContainersRun>;
  /** Ends every container; the runtime is its owner's to close. May be called twice. */
  close(): Promise<void>;
}

/** `undefined` means omitted. */
export interface ContainersOptions {
  readonly runtime: CodeRuntime;
  /** How long a container is kept that nobody uses. Default: 20 minutes. */
  readonly idleMs?: number | undefined;
  /** Containers at the same time: the one that nobody has used for longest goes, and where all run, calls wait. Default: 8. */
  readonly max?: number | undefined;
  /** The same for each scope. Default: 4. */
  readonly maxPerScope?: number | undefined;
}

/** The checks of the options, for whoever takes them along with its own. */
export const containerChecks: Readonly<Record<keyof ContainersOptions, OptionCheck>> = {
  runtime: (value) => (isRecord(value) && typeof value.create === 'function') || 'a CodeRuntime',
  idleMs: milliseconds,
  max: positiveInteger,
  maxPerScope: positiveInteger,
};

/** Throws a `TypeError` for a bad option. */
export function containers(options: ContainersOptions): CodeContainers {
  checkOptions('containers', options, containerChecks);
  const { runtime, idleMs = 20 * 60_000, max = 8, maxPerScope = 4 } = options;
  const shelf = containerShelf({ idleMs, max, maxPerScope });

  async function runIn(place: Place, code: string, files: readonly CodeFile[], signal: AbortSignal) {
    signal.throwIfAborted();
    shelf.closed.throwIfAborted();
    const fresh = !place.container?.alive;
    const container = await alive(place, signal);
    for (const file of files.filter(({ name }) => !place.names.has(name))) {
      await container.put(file);
      place.names.add(file.name);
    }
    return { ...(await container.run(code, signal)), fresh };
  }

  async function alive(place: Place, signal: AbortSignal): Promise<CodeContainer> {
    if (place.container?.alive) return place.container;
    place.names.clear();
    place.container = await runtime.create(signal);
    if (shelf.closed.aborted) await place.container.close();
    shelf.closed.throwIfAborted();
    return place.container;
  }

  return {
    async run(key, code, files, signal) {
      const place = await shelf.enter(key, signal);
      const work = place.inTurn(() => runIn(place, code, files, signal)).finally(() => shelf.leave(place));
      // It may end after the caller has been told of the signal.
      work.catch(() => {});
      return untilAborted(signal, () => work);
    },
    close: () => shelf.close(),
  };
}
