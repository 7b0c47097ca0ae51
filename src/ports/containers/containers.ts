/** The containers of a runtime: one object for all that share them, which are the code interpreter, the shell and the API. */
import type { ByteRange, FileUsage } from '../files/file-store.ts';
import { type OptionCheck, withMethods } from '../host/options-check.ts';
import type { CodeFile, CodeRun, CodeRuntime, CommandRun, ContainerCommand } from '../hosted-tools/code-runtime.ts';
import type { Container, ContainerFile, ContainerKey, NewContainer, NewContainerFile } from './container.ts';
import type { ContainerBounds } from './container-bounds.ts';

/** What every run says besides its result. */
export interface UsedContainer {
  /** True if nothing ran in this process of the container before: there are no variables, and only the files that were kept. */
  readonly fresh: boolean;
  /** How many files of earlier runs a fresh process was given back. */
  readonly restored: number;
  /** The files that the run wrote or changed and that are kept, as the API shows them. */
  readonly written: readonly ContainerFile[];
  /** The names of those that it wrote and that are not kept: the tenant's quota has no room for them. */
  readonly unkept: readonly string[];
}

/** The result of code in a container. */
export interface ContainersRun extends CodeRun, UsedContainer {}

/** The result of a command in a container. */
export interface ContainersCommandRun extends CommandRun, UsedContainer {}

/** One use of a container, for those who watch. */
export interface ContainerUse extends ContainerKey {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds. */
  readonly durationMs: number;
  /** What ran: Python or a command. */
  readonly kind: 'code' | 'command';
  /** The code, or the command. */
  readonly input: string;
  /** What it printed. */
  readonly stdout: string;
  /** What it printed as errors. */
  readonly stderr: string;
  /** The value of the last expression, or the exit code. */
  readonly result: string | undefined;
  /** The traceback, or why the container was lost. */
  readonly error: string | undefined;
  /** The names of the files that it wrote or changed. */
  readonly files: readonly string[];
}

/** What a tool wants of a container that begins with its run. */
export type ContainerWishes = Partial<NewContainer>;

/** What a tenant has. */
export interface ContainersUsage extends FileUsage {
  /** Containers that have not expired. */
  readonly containers: number;
  /** Containers whose process is there. */
  readonly running: number;
}

/**
 * The containers of all scopes. A container of another scope is missing for every method. Rejects with an `ApiError` for what a
 * client may be told, such as `container_expired`.
 */
export interface Containers {
  /** Where code runs. */
  readonly runtime: CodeRuntime;
  /** The bounds of what a tenant has. */
  readonly limits: ContainerBounds;
  /** Whether containers and their files outlive this process: their `storage` is set. */
  readonly isDurable: boolean;
  /**
   * A new container of a client's. No process starts before its first run. Throws `container_quota_exceeded`,
   * `unsupported_parameter` for terms that the runtime does not keep to, and `tenant_unknown`.
   */
  create(scope: string, wanted: NewContainer): Promise<Container>;
  /** The container, also one that has expired; undefined if there is none. */
  find(key: ContainerKey): Promise<Container | undefined>;
  /** All of the tenant's, oldest first. */
  list(scope: string): Promise<readonly Container[]>;
  /** Whether there was one to remove. Whatever runs in it ends. */
  remove(key: ContainerKey): Promise<boolean>;
  /**
   * Runs the code in the container of that key, which is created if there is none, or none that has not expired. Runs of one key run
   * one after another. `files` are put there unless files of their names are; `wanted` is for a container that begins. Rejects as `CodeContainer.run` does; the next run of the
   * key then gets a fresh process with the files that are kept.
   */
  run(
    key: ContainerKey,
    code: string,
    files: readonly CodeFile[],
    signal: AbortSignal,
    wanted?: ContainerWishes,
  ): Promise<ContainersRun>;
  /** The same for a command. Rejects where the runtime runs none (`runtime.runsCommands`). */
  exec(
    key: ContainerKey,
    command: ContainerCommand,
    files: readonly CodeFile[],
    signal: AbortSignal,
    wanted?: ContainerWishes,
  ): Promise<ContainersCommandRun>;
  /**
   * Keeps a file, which the next run finds; replaces one of the same name. Throws `invalid_value` for a name that is no path below the
   * working directory, `container_not_found`, `container_expired` and `file_quota_exceeded`.
   */
  putFile(key: ContainerKey, file: NewContainerFile): Promise<ContainerFile>;
  /** All files of the container, oldest first. Throws `container_not_found` and `container_expired`. */
  files(key: ContainerKey): Promise<readonly ContainerFile[]>;
  /** The bytes; undefined for a file that is not there any more. */
  readFile(key: ContainerKey, file: ContainerFile, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Whether there was one to remove; the next run does not find it any more. */
  removeFile(key: ContainerKey, file: ContainerFile): Promise<boolean>;
  /** What the tenant has. */
  usage(scope: string): Promise<ContainersUsage>;
  /** Calls back after each run, until the returned function is called. */
  watch(listener: (use: ContainerUse) => void): () => void;
  /** Ends every process; the owner of the runtime closes it, and that of the storage closes that. May be called twice. */
  close(): Promise<void>;
}

/** Whether the value is what `containers` makes. */
export const areContainers: OptionCheck = (value) =>
  withMethods('run', 'find', 'putFile')(value) === true || 'made by containers()';
