/** The containers of all conversations, by the id that clients know. */
import type { CodeFile, CodeRun } from './runtime.ts';

/** Where code runs: ids of two scopes never meet. */
export interface CodePlace {
  readonly scope: string;
  readonly id: string;
}

/** A run, and whether it was the first in its container: what an earlier one of this id held is gone. */
export interface ContainerRun extends CodeRun {
  readonly fresh: boolean;
}

/** Keeps a container for each place, as long as there is room, and runs code there, one after another. */
export interface CodeContainers {
  /**
   * Puts those of the files first that this container has not been given yet. Rejects as `CodeContainer.run` and
   * `CodeRuntime.create` do.
   */
  run(place: CodePlace, code: string, files: readonly CodeFile[], signal: AbortSignal): Promise<ContainerRun>;
  close(): Promise<void>;
}
