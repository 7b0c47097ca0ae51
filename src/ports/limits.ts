/** The limits of one router: they keep a hostile or broken peer from using up memory or time. */

/**
 * Every limit, of those that a host may set (`server/options/limit-options.ts`) and of those that it may not; sizes are
 * UTF-8 bytes, times are milliseconds.
 */
export interface Limits {
  /** The request body. Default: 33,554,432. */
  readonly bodyBytes: number;
  /**
   * The request bodies that are being read, compressed ones as they inflate, and those of clients that do not read their
   * answers, of all tenants: a tenant may have as much as it leaves free. All routers and middlewares of the process
   * count together. Where it is not set, it is at least eight times `bodyBytes`. Default: 268,435,456.
   */
  readonly bodiesBytes: number;
  /** Values of the request body, of any type and at any depth: a small text may hold many. Always 2,000,000. */
  readonly bodyValues: number;
  /** Items or messages that one request brings. Always 100,000. */
  readonly inputItems: number;
  /** Tools that one request brings, including those in its input and in namespaces. Always 4,096. */
  readonly tools: number;
  /** Uploaded files that one request reads, each as often as it is named. Default: 33,554,432. */
  readonly inputFileBytes: number;
  /** Stored responses that one request may continue. Always 1,000. */
  readonly historyTurns: number;
  /**
   * The size of what one request may continue, and of what one conversation may hold: the JSON of the items as the
   * store keeps it. Default: 33,554,432.
   */
  readonly historyBytes: number;
  /** One answer of the store. Default: 10,000. */
  readonly storeTimeoutMs: number;
  /**
   * A stream that is ready for the model is opened after this time, or after one interval of its heartbeats where that is
   * shorter, whether or not the model server has answered: a refusal until then has its own status, a later one is an
   * event of the stream. `Infinity` waits for the model server. Default: 5,000.
   */
  readonly openAfterMs: number;
  /** From the request to the model server's first byte: a long prompt takes that long. Default: 600,000. */
  readonly firstByteTimeoutMs: number;
  /** Time without output from the model server afterwards. Default: 60,000. */
  readonly idleTimeoutMs: number;
  /** A whole turn, its wait for a place included. Default: 1,800,000. */
  readonly durationMs: number;
  /** One event of the model server's stream, which may hold an image: 16,777,216, or `outputBytes` where that is more and finite. */
  readonly eventBytes: number;
  /**
   * Everything the model writes in one turn, including images; from the 129th on, each item, part, citation or call
   * counts 256 bytes more. Default: 10,485,760.
   */
  readonly outputBytes: number;
  /** The arguments of one tool call. Always 1,048,576. */
  readonly argumentBytes: number;
  /** Rounds of server-run tools in one turn, and continuations of a turn that the model server pauses. Default: 25. */
  readonly toolIterations: number;
  /** Calls that the server runs in one turn; the request's `max_tool_calls` may lower it. Default: 128. */
  readonly toolCalls: number;
  /** Calls of one round that run at the same time. Default: 8. */
  readonly parallelTools: number;
  /** One call of a tool, from its beginning or its last progress. Default: 60,000. */
  readonly toolTimeoutMs: number;
  /** One call of a tool that makes progress; never less than `toolTimeoutMs`. Default: 600,000. */
  readonly toolMaxMs: number;
  /** The result of one call. Default: 1,048,576. */
  readonly toolOutputBytes: number;
  /**
   * How often in a row the same call may have the same result before the model must answer without tools. Default: 3.
   */
  readonly repeatedCalls: number;
  /** Turns that run at the same time; `Infinity` sets no limit. Default: none. */
  readonly concurrentTurns: number;
  /** Turns of one tenant that run at the same time; `Infinity` sets no limit. Default: none. */
  readonly concurrentTurnsPerTenant: number;
  /**
   * Turns that wait for one of those places, of all tenants; one tenant may have as many as it leaves free. Free places
   * go round between the tenants that wait; with 0 a turn without a place is refused at once. Default: 0.
   */
  readonly queuedTurns: number;
  /** How long a turn may wait for its place; one in the background may wait for `durationMs`. Default: 30,000. */
  readonly queueTimeoutMs: number;
  /** Clients that follow the events of one response in the background at the same time. Always 100. */
  readonly followersPerResponse: number;
  /** Clients of one scope that follow responses in the background at the same time. Always 1,000. */
  readonly followersPerScope: number;
  /** How long the events of a response in the background are kept after its end. Default: 600,000. */
  readonly eventsTtlMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 32 * MIB,
  bodiesBytes: 256 * MIB,
  bodyValues: 2_000_000,
  inputItems: 100_000,
  tools: 4096,
  inputFileBytes: 32 * MIB,
  historyTurns: 1000,
  historyBytes: 32 * MIB,
  storeTimeoutMs: 10_000,
  openAfterMs: 5000,
  firstByteTimeoutMs: 10 * 60_000,
  idleTimeoutMs: 60_000,
  durationMs: 30 * 60_000,
  eventBytes: 16 * MIB,
  outputBytes: 10 * MIB,
  argumentBytes: MIB,
  toolIterations: 25,
  toolCalls: 128,
  parallelTools: 8,
  toolTimeoutMs: 60_000,
  toolMaxMs: 10 * 60_000,
  toolOutputBytes: MIB,
  repeatedCalls: 3,
  concurrentTurns: Number.POSITIVE_INFINITY,
  concurrentTurnsPerTenant: Number.POSITIVE_INFINITY,
  queuedTurns: 0,
  queueTimeoutMs: 30_000,
  followersPerResponse: 100,
  followersPerScope: 1000,
  eventsTtlMs: 10 * 60_000,
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
