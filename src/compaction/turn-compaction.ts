/** Compacts a conversation at the end of a turn: where it has grown too long, or where the client asks for it. */

import type { TokenCounter } from '../ports/token-counter.ts';
import type { TurnCompaction } from '../ports/turn-compaction.ts';
import type { TurnInput } from '../protocol/events.ts';
import type { Item } from '../protocol/items.ts';
import type { Note } from '../protocol/note.ts';
import { type CompactionPlan, type SummarySettings, summarise } from './summarise.ts';

/** Where compaction comes from: an item that asks for it, or a threshold in tokens. */
export interface CompactionWish {
  readonly triggered: boolean;
  readonly threshold: number | undefined;
}

/** What of the turn is compacted, and whom a failure is told. */
interface CompactionCase extends Omit<CompactionPlan, 'retained'> {
  readonly note: (note: Note) => void;
}

/** What compacting takes, and what tells whether there is need. */
interface TurnCompactionSettings extends SummarySettings {
  readonly countTokens: TokenCounter;
}

/** The compaction that the client wishes for; undefined where it wishes for none. */
export function turnCompaction(
  { triggered, threshold }: CompactionWish,
  { note, ...plan }: CompactionCase,
  settings: TurnCompactionSettings,
): TurnCompaction | undefined {
  if (!triggered && threshold === undefined) return undefined;
  const { request, items, call } = plan;

  async function* compacted(output: readonly Item[]): AsyncGenerator<readonly TurnInput[]> {
    const summarising = summarise({ ...plan, items: [...items, ...output], retained: 0 }, settings);
    for (;;) {
      const step = await summarising.next();
      if (step.done) return yield [{ type: 'compacted', ...step.value }];
      yield [];
    }
  }

  async function* compactedIfLong(output: readonly Item[]): AsyncGenerator<readonly TurnInput[]> {
    try {
      if ((await settings.countTokens(request, call.signal)) <= (threshold ?? 0)) return;
      yield* compacted(output);
    } catch (error) {
      call.signal.throwIfAborted();
      // The answer is written; that the next one costs more is no reason to fail it.
      note({ code: 'compaction_skipped', message: `The conversation could not be compacted: ${reasonOf(error)}` });
    }
  }

  return { only: triggered, compact: triggered ? compacted : compactedIfLong };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
