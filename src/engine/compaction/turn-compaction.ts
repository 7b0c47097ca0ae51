/** Compacts a conversation at the end of a turn: if it has grown too long, or if the client requests it. */

import type { TokenCounter } from '../../ports/token-counter.ts';
import type { TurnInput } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import type { TurnCompaction } from '../turn/run-turn.ts';
import { type CompactionPlan, type SummarySettings, summarise } from './summarise.ts';

/** The trigger of compaction: an item that requests it, or a threshold in tokens. */
export interface CompactionRequest {
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
  /** The most input tokens that the model server has reported for a call of the turn; 0 if it reported none. */
  readonly reportedInput: () => number;
}

/** The compaction that the client requests; undefined if it requests none. */
export function turnCompaction(
  { triggered, threshold }: CompactionRequest,
  plan: CompactionCase,
  settings: TurnCompactionSettings,
): TurnCompaction {
  const compaction = new Compaction(plan, threshold ?? 0, settings);
  return {
    only: triggered,
    compact: (output) => (triggered ? compaction.now(output, [{ type: 'compacting' }]) : compaction.ifLong(output)),
  };
}

/** A class, not two functions of the turn, for the reason of `Rounds`. */
class Compaction {
  private readonly plan: CompactionCase;
  private readonly threshold: number;
  private readonly settings: TurnCompactionSettings;

  constructor(plan: CompactionCase, threshold: number, settings: TurnCompactionSettings) {
    this.plan = plan;
    this.threshold = threshold;
    this.settings = settings;
  }

  /** `begun` is emitted when the model begins to answer. */
  async *now(output: readonly Item[], begun: readonly TurnInput[]): AsyncGenerator<readonly TurnInput[]> {
    const { note: _, ...plan } = this.plan;
    const summarising = summarise({ ...plan, items: [...plan.items, ...output], retained: 0 }, this.settings);
    for (;;) {
      const step = await summarising.next();
      if (step.done) return yield [{ type: 'compacted', ...step.value }];
      yield begun;
    }
  }

  async *ifLong(output: readonly Item[]): AsyncGenerator<readonly TurnInput[]> {
    const { request, call, note } = this.plan;
    try {
      const { countTokens, reportedInput } = this.settings;
      // The server has just counted what an estimate may miss by half; but not every server counts.
      if (reportedInput() <= this.threshold && (await countTokens(request, call.signal)) <= this.threshold) return;
      // Without an announcement, which a failure could not take back.
      yield* this.now(output, []);
    } catch (error) {
      call.signal.throwIfAborted();
      // The answer is written; a failed compaction only makes the next one more expensive, and must not fail it.
      const reason = error instanceof Error ? error.message : String(error);
      note({ code: 'compaction_skipped', message: `The conversation could not be compacted: ${reason}` });
    }
  }
}
