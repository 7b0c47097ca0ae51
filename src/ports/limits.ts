/** The limits of one router: what stops a hostile or broken peer from taking all of memory or time. */

/** Every limit; sizes are UTF-8 bytes, times are milliseconds. */
export interface Limits {
  /** The request body. */
  readonly bodyBytes: number;
  /** Stored responses that one request may continue. */
  readonly historyTurns: number;
  /** One answer of the store. */
  readonly storeTimeoutMs: number;
  /** From the request to the model server's first byte. */
  readonly firstByteTimeoutMs: number;
  /** Silence of the model server afterwards. */
  readonly idleTimeoutMs: number;
  /** A whole turn. */
  readonly durationMs: number;
  /** One event of the model server's stream. */
  readonly eventBytes: number;
  /** Everything the model writes in one turn. */
  readonly outputBytes: number;
  /** The arguments of one tool call. */
  readonly argumentBytes: number;
  /** Rounds of tools that the server runs in one turn. */
  readonly toolIterations: number;
  /** Calls that the server runs in one turn; the request's `max_tool_calls` may lower it. */
  readonly toolCalls: number;
  /** Calls of one round that run at the same time. */
  readonly parallelTools: number;
  /** One call of a tool. */
  readonly toolTimeoutMs: number;
  /** The result of one call. */
  readonly toolOutputBytes: number;
  /** How often in a row the same call may have the same result before the model must answer without tools. */
  readonly repeatedCalls: number;
  /** Turns that run at the same time; `Infinity` sets no limit. */
  readonly concurrentTurns: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 32 * MIB,
  historyTurns: 1000,
  storeTimeoutMs: 10_000,
  firstByteTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  durationMs: 30 * 60_000,
  eventBytes: MIB,
  outputBytes: 10 * MIB,
  argumentBytes: MIB,
  toolIterations: 25,
  toolCalls: 128,
  parallelTools: 8,
  toolTimeoutMs: 60_000,
  toolOutputBytes: MIB,
  repeatedCalls: 3,
  concurrentTurns: Number.POSITIVE_INFINITY,
};
