/** Compaction at the end of a turn, behind everything else that the turn takes in. */
import type { OutputItem } from '../protocol/items.ts';
import { isCutOff, type TurnState } from './state.ts';
import type { Inputs } from './tool-loop.ts';

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
