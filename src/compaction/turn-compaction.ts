/** Compacts a conversation at the end of a turn: if it has grown too long, or if the client requests it. */

import type { TokenCounter } from '../ports/token-counter.ts';
import type { TurnCompaction } from '../ports/turn/turn-compaction.ts';
import type { TurnInput } from '../protocol/events.ts';
import type { Item } from '../protocol/items.ts';
import type { Note } from '../protocol/note.ts';
import { type CompactionPlan, type SummarySettings, summarise } from './summarise.ts';

/** The trigger of compaction: an item that requests it, or a threshold in tokens. */
export interface CompactionWish {
  readonly triggered: boolean;
  readonly threshold: number | undefined;
}

/** The part of the turn to compact, and the hook that receives a failure. */
interface CompactionCase extends Omit<CompactionPlan, 'retained'> {
  readonly note: (note: Note) => void;
}

/** The dependencies of compaction, and the counter that decides whether it is needed. */
interface TurnCompactionSettings extends SummarySettings {
  readonly countTokens: TokenCounter;
}

/** The compaction that the client requests; undefined if it requests none. */
export function turnCompaction(
  { triggered, threshold }: CompactionWish,
  { note, ...plan }: CompactionCase,
  settings: TurnCompactionSettings,
): TurnCompaction | undefined {
  if (!triggered && threshold === undefined) return undefined;
  const { request, items, call } = plan;

  /** `begun` is emitted when the model begins to answer. */
  async function* compacted(
    output: readonly Item[],
    begun: readonly TurnInput[],
  ): AsyncGenerator<readonly TurnInput[]> {
    const summarising = summarise({ ...plan, items: [...items, ...output], retained: 0 }, settings);
    for (;;) {
      const step = await summarising.next();
      if (step.done) return yield [{ type: 'compacted', ...step.value }];
      yield begun;
    }
  }

  async function* compactedIfLong(output: readonly Item[]): AsyncGenerator<readonly TurnInput[]> {
    try {
      if ((await settings.countTokens(request, call.signal)) <= (threshold ?? 0)) return;
      // Without an announcement, which a failure could not take back.
      yield* compacted(output, []);
    } catch (error) {
      call.signal.throwIfAborted();
      // The answer is written; a failed compaction only makes the next one more expensive, and must not fail it.
      note({ code: 'compaction_skipped', message: `The conversation could not be compacted: ${reasonOf(error)}` });
    }
  }

  return {
    only: triggered,
    compact: triggered ? (output) => compacted(output, [{ type: 'compacting' }]) : compactedIfLong,
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
