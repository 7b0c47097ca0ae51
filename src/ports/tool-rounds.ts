/** The rounds of tools in one turn, as whoever drives a turn needs them. */
import type { ToolCallResult } from '../protocol/items.ts';
import type { Limits } from './limits.ts';

/** A call of a tool of ours, under the name that the model knows. */
export interface RoundCall {
  readonly name: string;
  readonly arguments: string;
}

/** What bounds the rounds. */
export type RoundLimits = Pick<Limits, 'toolIterations' | 'toolCalls' | 'parallelTools' | 'repeatedCalls'>;

/** The rounds of one turn. */
export interface ToolRounds<Call extends RoundCall> {
  /** Runs the calls of one round; calls past a limit are answered but not run. */
  run(calls: readonly Call[]): AsyncGenerator<{ readonly call: Call; readonly outcome: ToolCallResult }>;
  /** The limit that was met: the model may not be asked again. */
  stopped(): 'max_tool_iterations' | 'max_tool_calls' | undefined;
  /** Whether the model goes round in circles and must answer without tools. */
  circling(): boolean;
}
