/** The tool rounds of one turn: calls run in parallel, results keep the order of the calls, and all limits apply. */

import type { Toolset } from '../../ports/toolset.ts';
import type { PartialImage, ToolCallResult } from '../../protocol/items.ts';
import { INTERNAL_ERROR, protocolError } from '../../protocol/tool-calls/results/call-error.ts';
import type { RoundCall, RoundLimits, RoundsEnd, ToolRounds } from '../turn/machine/tool-rounds.ts';

/** Runs one call; rejects only when the turn is aborted. `onPartialImage` receives the unfinished images of the call. */
export type RunCall<Call extends RoundCall> = (
  call: Call,
  onPartialImage?: (image: PartialImage) => void,
) => Promise<ToolCallResult>;

/**
 * Counts rounds from zero, and calls in `counted`. `isSteered` returns, after each round, whether the client has sent input that the model must receive
 * next.
 */
export function toolRounds<Call extends RoundCall>(
  limits: RoundLimits,
  runCall: RunCall<Call>,
  isSteered: () => boolean = () => false,
  counted: CallCount = { calls: 0 },
): ToolRounds<Call> {
  return new Rounds(limits, runCall, isSteered, counted);
}

/** The calls that count against a limit, which several turns may share. */
export interface CallCount {
  calls: number;
}

/** A class, since a generator function that is made for a turn keeps the turn until the next full garbage collection: V8 makes a hidden class for it. */
class Rounds<Call extends RoundCall> implements ToolRounds<Call> {
  private readonly limits: RoundLimits;
  private readonly runCall: RunCall<Call>;
  private readonly isSteered: () => boolean;
  private readonly repeats: ReturnType<typeof repeatCounter>;
  private readonly counted: CallCount;
  private rounds = 0;
  private end: RoundsEnd | undefined;

  constructor(limits: RoundLimits, runCall: RunCall<Call>, isSteered: () => boolean, counted: CallCount) {
    this.limits = limits;
    this.runCall = runCall;
    this.isSteered = isSteered;
    this.counted = counted;
    this.repeats = repeatCounter(limits.repeatedCalls);
  }

  async *run(
    calls: readonly Call[],
    onPartialImage?: (call: Call, image: PartialImage) => void,
    isInner = false,
  ): ReturnType<ToolRounds<Call>['run']> {
    const allowed = this.begin(calls, isInner);
    const runInSlot = concurrencyLimiter(this.limits.parallelTools);
    const running = calls.slice(0, allowed).map((call) => {
      return { call, pending: runInSlot(() => this.runCall(call, (image) => onPartialImage?.(call, image))) };
    });
    // Each is awaited in order; until then its failure is not unhandled.
    for (const { pending } of running) pending.catch(() => {});
    for (const { call, pending } of running) {
      const outcome = await pending;
      yield { call, outcome: isInner || outcome.calls ? outcome : this.repeats.outcomeFor(call, outcome) };
    }
    for (const call of calls.slice(allowed)) yield { call, outcome: NOT_RUN };
    if (this.isSteered()) this.end ??= 'steered';
  }

  refuse(calls: readonly RoundCall[], outputs: readonly string[]): void {
    this.rounds += 1;
    if (this.rounds > this.limits.toolIterations) this.end = 'max_tool_iterations';
    else if (this.isRepeating()) this.end = 'repeated_tool_calls';
    for (const [at, call] of calls.entries())
      this.repeats.outcomeFor(call, { output: outputs[at] ?? '', failed: true });
    if (this.isSteered()) this.end ??= 'steered';
  }

  stopped(): RoundsEnd | undefined {
    return this.end;
  }

  isRepeating(): boolean {
    return this.repeats.isRepeating();
  }

  /** Counts a round of these calls, or more calls of the last one; returns how many of them may run. */
  private begin(calls: readonly Call[], isInner: boolean): number {
    const { toolIterations, toolCalls } = this.limits;
    const begun = calls.filter(({ hasBegun }) => hasBegun).length;
    const added = calls.length - begun;
    if (!isInner) this.rounds += 1;
    const allowed = this.rounds > toolIterations ? 0 : Math.max(0, toolCalls - this.counted.calls);
    if (this.isRepeating() && added > 0 && !isInner) this.end = 'repeated_tool_calls';
    if (added > allowed) this.end = this.rounds > toolIterations ? 'max_tool_iterations' : 'max_tool_calls';
    this.counted.calls += added;
    return begun + allowed;
  }
}

const LIMIT_REACHED = 'Not run: the limit of tool calls for this response is reached.';
const NOT_RUN: ToolCallResult = {
  output: LIMIT_REACHED,
  failed: true,
  error: protocolError(INTERNAL_ERROR, LIMIT_REACHED),
};

/** Runs at most this many at the same time. */
function concurrencyLimiter(size: number): <T>(task: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let free = size;
  return async (task) => {
    if (free === 0) await new Promise<void>((resolve) => queue.push(resolve));
    else free -= 1;
    try {
      return await task();
    } finally {
      const next = queue.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** Detects the same call with the same result again and again, a loop that no model ends by itself. */
function repeatCounter(limit: number) {
  let last = '';
  let count = 0;
  let isRepeating = false;
  return {
    isRepeating: () => isRepeating,
    /** The outcome as the model receives it. */
    outcomeFor(call: RoundCall, outcome: ToolCallResult): ToolCallResult {
      const signature = JSON.stringify([call.name, call.arguments, outcome.output]);
      count = signature === last ? count + 1 : 1;
      last = signature;
      if (count < limit) return outcome;
      isRepeating = true;
      const note = `(${call.name} was called ${count} times in a row with the same arguments and the same result. Answer without tools.)`;
      const { output } = outcome;
      const noted = typeof output === 'string' ? `${output}\n${note}` : [...output, { type: 'input_text', text: note }];
      return { ...outcome, output: noted };
    },
  };
}

const LOST =
  'The server that ran this tool was lost before the result was stored. It is not run again, since it may have taken effect.';
const INTERRUPTED: ToolCallResult = { output: LOST, failed: true, error: protocolError(INTERNAL_ERROR, LOST) };

/**
 * Runs calls as before, except for those that `wasRunning`: they fail, unless their tool declares by an `idempotentHint` or
 * `readOnlyHint` that running it twice does no harm.
 */
export function withoutRepeats<Call extends RoundCall>(
  runCall: RunCall<Call>,
  toolset: Toolset,
  wasRunning: (call: Call) => boolean,
): RunCall<Call> {
  return async (call, onPartialImage) => {
    const { idempotentHint, readOnlyHint } = toolset.get(call.name)?.tool.annotations ?? {};
    const isRepeatable = idempotentHint === true || readOnlyHint === true;
    return wasRunning(call) && !isRepeatable ? INTERRUPTED : runCall(call, onPartialImage);
  };
}
