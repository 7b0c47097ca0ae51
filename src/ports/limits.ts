/** The limits of one router: they keep a hostile or broken peer from using up memory or time. */

/** Every limit; sizes are UTF-8 bytes, times are milliseconds. */
export interface Limits {
  /** The request body. */
  readonly bodyBytes: number;
  /** Values of the request body, of any type and at any depth. */
  readonly bodyValues: number;
  /** Items or messages that one request brings. */
  readonly inputItems: number;
  /** Tools that one request brings, including those in its input and in namespaces. */
  readonly tools: number;
  /** Stored responses that one request may continue. */
  readonly historyTurns: number;
  /**
   * The size of what one request may continue, and of what one conversation may hold: the JSON of the items as the
   * store keeps it.
   */
  readonly historyBytes: number;
  /** One answer of the store. */
  readonly storeTimeoutMs: number;
  /** From the request to the model server's first byte. */
  readonly firstByteTimeoutMs: number;
  /** Time without output from the model server afterwards. */
  readonly idleTimeoutMs: number;
  /** A whole turn. */
  readonly durationMs: number;
  /** One event of the model server's stream, which may hold an image. */
  readonly eventBytes: number;
  /**
   * Everything the model writes in one turn, including images; from the 129th on, each item, part, citation or call
   * counts 256 bytes more.
   */
  readonly outputBytes: number;
  /** The arguments of one tool call. */
  readonly argumentBytes: number;
  /** Rounds of server-run tools in one turn, and continuations of a turn that the model server pauses. */
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
  /** Clients that follow the events of one response in the background at the same time. */
  readonly followersPerResponse: number;
  /** Clients of one scope that follow responses in the background at the same time. */
  readonly followersPerScope: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 32 * MIB,
  bodyValues: 2_000_000,
  inputItems: 100_000,
  tools: 4096,
  historyTurns: 1000,
  historyBytes: 32 * MIB,
  storeTimeoutMs: 10_000,
  firstByteTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  durationMs: 30 * 60_000,
  eventBytes: 16 * MIB,
  outputBytes: 10 * MIB,
  argumentBytes: MIB,
  toolIterations: 25,
  toolCalls: 128,
  parallelTools: 8,
  toolTimeoutMs: 60_000,
  toolOutputBytes: MIB,
  repeatedCalls: 3,
  concurrentTurns: Number.POSITIVE_INFINITY,
  followersPerResponse: 100,
  followersPerScope: 1000,
};

/** The number of items, parts, citations and calls that count only their content, as a usual answer has. */
const FREE_ITEMS = 128;
const ITEM_BYTES = 256;

/**
 * The extra bytes that this item, part, citation or call of an answer counts, by its number from 1: a model could begin
 * millions of empty ones.
 */
export function bytesOfItem(number: number): number {
  return number > FREE_ITEMS ? ITEM_BYTES : 0;
}
