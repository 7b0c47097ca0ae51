/** The port that compacts a conversation at the end of a turn. */
import type { TurnInput } from '../../protocol/events.ts';
import type { OutputItem } from '../../protocol/items.ts';

/** The compaction that a client requested. */
export interface TurnCompaction {
  /** Whether the client requested only the compaction, so that no model turn runs. */
  readonly only: boolean;
  /** Yields that the conversation was compacted; yields nothing if there is no need. */
  readonly compact: (output: readonly OutputItem[]) => AsyncIterable<readonly TurnInput[]>;
}
