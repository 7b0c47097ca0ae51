/** The tool rounds of one turn, as the turn's loop needs them. */

import type { Limits } from '../../../ports/limits.ts';
import type { IncompleteReason } from '../../../protocol/events.ts';
import type { PartialImage, ToolCallResult } from '../../../protocol/items.ts';

/** A call of a server-run tool, under the model's name for it. */
export interface RoundCall {
  readonly name: string;
  readonly arguments: string;
  /** The id of the call, for those who ask for it. */
  readonly callId?: string;
  /** Whether it has run before and goes on: it counts once. Default: false. */
  readonly hasBegun?: boolean;
}

/** The limits of the rounds. */
export type RoundLimits = Pick<Limits, 'toolIterations' | 'toolCalls' | 'parallelTools' | 'repeatedCalls'>;

/**
 * Why no more rounds follow: a limit, a model that repeats its calls although it was asked to answer without tools, or
 * input of the client's that the model must receive in another response.
 */
export type RoundsEnd = Extract<
  IncompleteReason,
  'max_tool_iterations' | 'max_tool_calls' | 'repeated_tool_calls' | 'steered'
>;

/** The rounds of one turn. */
export interface ToolRounds<Call extends RoundCall> {
  /**
   * Runs the calls of one round; calls past a limit receive an answer but are not run. `onPartialImage` receives the
   * unfinished images of those that run. With `isInner` they go on with a round, as the calls of a program: the same call may be
   * repeated, and no other round is counted.
   */
  run(
    calls: readonly Call[],
    onPartialImage?: (call: Call, image: PartialImage) => void,
    isInner?: boolean,
  ): AsyncGenerator<{ readonly call: Call; readonly outcome: ToolCallResult }>;
  /** Counts a round in which the model made only calls that it may not make; `outputs` are what it is told, call by call. */
  refuse(calls: readonly RoundCall[], outputs: readonly string[]): void;
  /** Why the model may not be called again. */
  stopped(): RoundsEnd | undefined;
  /** Whether the model repeats itself and must answer without tools. */
  isRepeating(): boolean;
}
