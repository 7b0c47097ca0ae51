/** Compaction at the end of a turn, after all its other input. */
import type { TurnCompaction } from '../ports/turn-compaction.ts';
import { isCutOff, type TurnState } from './state.ts';
import type { Inputs } from './tool-loop.ts';

/** The turn's own sources, followed by the compaction. A truncated turn is not compacted. */
export async function* withCompaction(
  sources: AsyncGenerator<Inputs, void>,
  { only, compact }: TurnCompaction,
  current: () => TurnState,
): AsyncGenerator<Inputs, void> {
  if (!only) yield* sources;
  const state = current();
  if (!isCutOff(state) && !state.stopped) yield compact(state.output.from(0));
}
