/** The limits of one router: what stops a hostile or broken peer from taking all of memory or time. */

/** Every limit; sizes are UTF-8 bytes, times are milliseconds. */
export interface Limits {
  /** The request body. */
  readonly bodyBytes: number;
  /** Values of the request body, whatever their kind and however deep they stand. */
  readonly bodyValues: number;
  /** Items or messages that one request brings. */
  readonly inputItems: number;
  /** Tools that one request brings, those in its input and in namespaces included. */
  readonly tools: number;
  /** Stored responses that one request may continue. */
  readonly historyTurns: number;
  /** What one request may continue, and what one conversation may hold: the JSON of the items as the store keeps it. */
  readonly historyBytes: number;
  /** One answer of the store. */
  readonly storeTimeoutMs: number;
  /** From the request to the model server's first byte. */
  readonly firstByteTimeoutMs: number;
  /** Silence of the model server afterwards. */
  readonly idleTimeoutMs: number;
  /** A whole turn. */
  readonly durationMs: number;
  /** One event of the model server's stream, which may hold a picture. */
  readonly eventBytes: number;
  /** Everything the model writes in one turn, pictures included; from the 129th on, each item, part, citation or call counts 256 bytes besides. */
  readonly outputBytes: number;
  /** The arguments of one tool call. */
  readonly argumentBytes: number;
  /** Rounds of tools that the server runs in one turn, and how often a turn that the model server pauses goes on. */
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

/** Items, parts, citations and calls that count nothing but what is written in them, as a usual answer has. */
const FREE_ITEMS = 128;
const ITEM_BYTES = 256;

/** What this item, part, citation or call of an answer counts besides, by its number from 1: a model could begin millions of empty ones. */
export function bytesOfItem(number: number): number {
  return number > FREE_ITEMS ? ITEM_BYTES : 0;
}
