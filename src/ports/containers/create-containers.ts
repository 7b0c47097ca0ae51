/** Makes the containers of a runtime, and shares them between those that are given the same runtime. */

import { isRecord } from '../../protocol/record.ts';
import { type FileStore, isFileStore } from '../files/file-store.ts';
import { checkOptions, isObject, milliseconds, type OptionCheck, positiveInteger } from '../host/options-check.ts';
import type { CodeRuntime } from '../hosted-tools/code-runtime.ts';
import { type ContainerQuota, containerBounds } from './container-bounds.ts';
import { ContainerKeeper } from './container-keeper.ts';
import { areContainers, type Containers } from './containers.ts';
import { MemoryShelf } from './memory-shelf.ts';
import { StoredShelf } from './stored-shelf.ts';

/** `undefined` means omitted. */
export interface ContainersOptions {
  /** Creates the processes in which code runs. Its owner closes it. */
  readonly runtime: CodeRuntime;
  /** How long an unused container is kept, in milliseconds, unless its client says otherwise; a process is never kept for longer. Default: 20 minutes. */
  readonly idleMs?: number | undefined;
  /** Maximum number of processes, at most `maxContainers` of the runtime: the least recently used ends, and its files stay; if all run, calls wait. Default: 8. */
  readonly max?: number | undefined;
  /** The same for each scope. Default: 4. */
  readonly maxPerScope?: number | undefined;
  /** What a tenant may have. Default: those of `ContainerQuota`. */
  readonly quota?: ContainerQuota | undefined;
  /**
   * Where containers and their files are kept, such as `diskFiles`, so that they outlive this process and are found by others. Its
   * owner closes it. Default: the memory of the process.
   */
  readonly storage?: FileStore | undefined;
}

const isRuntime: OptionCheck = (value) => (isRecord(value) && typeof value.create === 'function') || 'a CodeRuntime';

/** The checks of the options, for those that accept them among their own. */
const containerChecks: Readonly<Record<keyof ContainersOptions, OptionCheck>> = {
  runtime: isRuntime,
  idleMs: milliseconds,
  max: positiveInteger,
  maxPerScope: positiveInteger,
  quota: isObject,
  storage: isFileStore,
};

/**
 * The containers of a runtime, for the code interpreter, the shell and the API, which find each other's by id. Those that are given
 * the `runtime` alone share these, too. Throws a `TypeError` for a bad option.
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
export function containers(options: ContainersOptions): Containers {
  checkOptions('containers', options, containerChecks);
  return makeContainers('containers', options);
}

/** The same for the function `owner`, which has checked its options. */
function makeContainers(owner: string, options: ContainersOptions): Containers {
  const { runtime, idleMs = 20 * 60_000, quota, storage } = options;
  if (runtime === undefined) throw new TypeError(`${owner}: runtime must be a CodeRuntime, got undefined`);
  // More than the runtime has would wait for it, while idle ones have its places.
  const { maxContainers: places = Number.POSITIVE_INFINITY } = runtime;
  const max = Math.min(options.max ?? 8, places);
  const maxPerScope = Math.min(options.maxPerScope ?? 4, Math.max(places - 1, 1));
  const limits = containerBounds(owner, quota, runtime);
  const { memoryBytes: maxBytes, memoryContainers: maxContainers } = limits;
  const made: Containers = new ContainerKeeper({
    ...{ runtime, idleMs, max, maxPerScope, limits },
    shelf: (isInUse) => (storage ? new StoredShelf(storage) : new MemoryShelf({ maxBytes, maxContainers, isInUse })),
    onClose: () => void (shared.get(runtime)?.containers === made && shared.delete(runtime)),
  });
  if (!shared.has(runtime)) shared.set(runtime, { containers: made, users: 1 });
  return made;
}

interface Shared {
  readonly containers: Containers;
  /** How many use them. */
  users: number;
}

/** The containers of each runtime: those that were made first. */
const shared = new WeakMap<CodeRuntime, Shared>();

/** What a tool or the API is given: containers, or the runtime whose containers it shares. */
export interface SharedContainersOptions extends Omit<ContainersOptions, 'runtime'> {
  /** Creates the processes in which code runs: whoever is given the same runtime shares its containers. Its owner closes it. */
  readonly runtime?: CodeRuntime | undefined;
  /** Made by `containers`, which has the other options; their owner closes them. */
  readonly containers?: Containers | undefined;
}

/** The checks of these options. */
export const sharedChecks: Readonly<Record<keyof SharedContainersOptions, OptionCheck>> = {
  ...containerChecks,
  containers: areContainers,
};

/** Containers, and what ends their use. */
interface SharedContainers {
  readonly containers: Containers;
  /** Closes them if nobody else uses them and they were not given. May be called twice. */
  readonly close: () => Promise<void>;
}

/**
 * The containers that were given, or those of the runtime, made by whoever asks first. Throws a `TypeError` for options of containers
 * that are there already.
 */
export function shareContainers(
  owner: string,
  { containers: given, ...options }: SharedContainersOptions,
): SharedContainers {
  const { runtime, ...terms } = options;
  const [term] = Object.entries(terms).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (given) {
    const wrong = runtime === undefined ? term : 'runtime';
    if (wrong !== undefined)
      throw new TypeError(`${owner}: ${wrong} belongs in containers(), which has made the containers`);
    return { containers: given, close: async () => {} };
  }
  if (runtime === undefined) throw new TypeError(`${owner}: runtime must be a CodeRuntime, got undefined`);
  const known = shared.get(runtime);
  if (known && term !== undefined) {
    const message = `${owner}: ${term} comes too late: the containers of this runtime are there already`;
    throw new TypeError(`${message}; make them first, by containers({ runtime, ${term} })`);
  }
  if (known) known.users += 1;
  const made = known?.containers ?? makeContainers(owner, { ...options, runtime });
  let isOpen = true;
  return {
    containers: made,
    async close() {
      const use = shared.get(runtime);
      if (!isOpen || !use) return;
      isOpen = false;
      use.users -= 1;
      if (use.users === 0) await made.close();
    },
  };
}
