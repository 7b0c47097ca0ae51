/** Compacts a conversation at the end of a turn: where it has grown too long, or where the client asks for it. */

import type { TurnInput } from '../protocol/events.ts';
import type { Item, OutputItem } from '../protocol/items.ts';
import type { Note } from '../protocol/note.ts';
import type { CoreSettings } from '../server/options.ts';
import { isCutOff, type TurnState } from '../turn/state.ts';
import type { Inputs } from '../turn/tool-loop.ts';
import { type CompactionPlan, type SummarySettings, summarise } from './summarise.ts';

/** What a turn needs to compact its conversation. */
export interface TurnCompaction {
  /** Whether the client asked for nothing else, so that the model has no turn of its own. */
  readonly only: boolean;
  /** Says that the conversation was compacted; says nothing where there is no need. */
  readonly compact: (output: readonly OutputItem[]) => Inputs;
}

/** The turn's own sources, and the compaction behind them. A turn that was cut off ends with what was cut off. */
export async function* withCompaction(
  sources: AsyncGenerator<Inputs, void>,
  { only, compact }: TurnCompaction,
  current: () => TurnState,
): AsyncGenerator<Inputs, void> {
  if (!only) yield* sources;
  const state = current();
  if (!isCutOff(state) && !state.stopped) yield compact(state.output.from(0));
}

/** Where compaction comes from: an item that asks for it, or a threshold in tokens. */
export interface CompactionWish {
  readonly triggered: boolean;
  readonly threshold: number | undefined;
}

/** What of the turn is compacted, and whom a failure is told. */
export interface CompactionCase extends Omit<CompactionPlan, 'retained'> {
  readonly note: (note: Note) => void;
}

/** What compacting takes, and what tells whether there is need. */
export type TurnCompactionSettings = SummarySettings & Pick<CoreSettings, 'countTokens'>;

/** The compaction that the client wishes for; undefined where it wishes for none. */
export function turnCompaction(
  { triggered, threshold }: CompactionWish,
  { note, ...asked }: CompactionCase,
  settings: TurnCompactionSettings,
): TurnCompaction | undefined {
  if (!triggered && threshold === undefined) return undefined;
  const { request, items, call } = asked;

  async function* compacted(output: readonly Item[]): AsyncGenerator<readonly TurnInput[]> {
    const asking = summarise({ ...asked, items: [...items, ...output], retained: 0 }, settings);
    for (;;) {
      const step = await asking.next();
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
