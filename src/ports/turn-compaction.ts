/** What compacts a conversation at the end of a turn. */
import type { TurnInput } from '../protocol/events.ts';
import type { OutputItem } from '../protocol/items.ts';

/** The compaction that a client asked for. */
export interface TurnCompaction {
  /** Whether the client asked for nothing else, so that the model has no turn of its own. */
  readonly only: boolean;
  /** Yields that the conversation was compacted; nothing where there is no need. */
  readonly compact: (output: readonly OutputItem[]) => AsyncIterable<readonly TurnInput[]>;
}
