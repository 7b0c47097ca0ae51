/** Keeps what last ran in containers. */
import type { Containers, ContainerUse } from '../../../ports/containers/containers.ts';
import type { BoundedText } from './bounded-text.ts';

/** Runs of all containers together; the oldest is dropped first. */
const MAX_USES = 200;
/** Characters of each text of a run. */
const MAX_CHARACTERS = 8192;
const MAX_FILES = 100;

/** What the inspector asks of containers. */
export type WatchedContainers = Pick<Containers, 'watch' | 'find' | 'files'>;

/** A run, as far as it is kept. */
export interface KeptUse extends Pick<ContainerUse, 'scope' | 'id' | 'at' | 'durationMs' | 'kind'> {
  readonly input: BoundedText;
  readonly stdout: BoundedText;
  readonly stderr: BoundedText;
  readonly result: BoundedText;
  readonly error: BoundedText;
  readonly files: readonly string[];
  /** Those in which it ran. */
  readonly containers: WatchedContainers;
}

/** The last runs of the containers that it watches. */
export class ContainerUses {
  private readonly uses: KeptUse[] = [];
  private readonly stops: readonly (() => void)[];
  private readonly maxCharacters: number;

  /** `characters` is how much is kept of each text; it is never more than a few thousand. */
  constructor(watched: readonly WatchedContainers[], characters: number) {
    this.maxCharacters = Math.min(characters, MAX_CHARACTERS);
    this.stops = watched.map((containers) => containers.watch((use) => this.add(use, containers)));
  }

  get newestFirst(): readonly KeptUse[] {
    return this.uses.toReversed();
  }

  close(): void {
    for (const stop of this.stops) stop();
    this.uses.length = 0;
  }

  private add({ scope, id, at, durationMs, kind, files, ...texts }: ContainerUse, containers: WatchedContainers): void {
    if (this.uses.length === MAX_USES) this.uses.shift();
    const kept = {
      input: this.bounded(texts.input),
      stdout: this.bounded(texts.stdout),
      stderr: this.bounded(texts.stderr),
      result: this.bounded(texts.result ?? ''),
      error: this.bounded(texts.error ?? ''),
    };
    this.uses.push({ scope, id, at, durationMs, kind, ...kept, files: files.slice(0, MAX_FILES), containers });
  }

  private bounded(text: string): BoundedText {
    return { text: text.slice(0, this.maxCharacters), cut: Math.max(0, text.length - this.maxCharacters) };
  }
}
