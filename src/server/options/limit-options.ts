/** The limits that a host may set, by what they bound; the engine reads them from one flat object. */

import { anyMilliseconds, checkOptions, isObject, type OptionCheck } from '../../ports/host/options-check.ts';
import { DEFAULT_LIMITS, type Limits } from '../../ports/limits.ts';
import { millisecondsOrNever } from './heartbeat-options.ts';

/** What one request may bring, and what it may read; sizes are UTF-8 bytes, times are milliseconds. */
export interface RequestLimits {
  /** The request body. Default: 33,554,432. */
  readonly bodyBytes?: number | undefined;
  /**
   * The request bodies that are being read, compressed ones as they inflate, and those of clients that do not read their
   * answers, of all tenants: a tenant may have as much as it leaves free. All routers and middlewares of the process
   * count together. Where it is not set, it is at least eight times `bodyBytes`. Default: 268,435,456.
   */
  readonly bodiesBytes?: number | undefined;
  /** Uploaded files that one request reads, each as often as it is named. Default: 33,554,432. */
  readonly fileBytes?: number | undefined;
  /**
   * The size of what one request may continue, and of what one conversation may hold: the JSON of the items as the
   * store keeps it. Default: 33,554,432.
   */
  readonly historyBytes?: number | undefined;
  /** One answer of the store. Default: 10,000. */
  readonly storeTimeoutMs?: number | undefined;
}

/** What one call of a model may take and write; sizes are UTF-8 bytes, times are milliseconds. */
export interface ModelLimits {
  /**
   * A stream that is ready for the model is opened after this time, or after one interval of its heartbeats where that is
   * shorter, whether or not the model server has answered: a refusal until then has its own status, a later one is an
   * event of the stream. `Infinity` waits for the model server. Default: 5,000.
   */
  readonly openAfterMs?: number | undefined;
  /** From the request to the model server's first byte: a long prompt takes that long. Default: 600,000. */
  readonly firstByteTimeoutMs?: number | undefined;
  /** Time without output from the model server afterwards. Default: 60,000. */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * Everything the model writes in one turn, including images; from the 129th on, each item, part, citation or call
   * counts 256 bytes more. Default: 10,485,760.
   */
  readonly outputBytes?: number | undefined;
}

/** What the tools that the server runs may take in one turn; sizes are UTF-8 bytes, times are milliseconds. */
export interface ToolLimits {
  /** Rounds of server-run tools in one turn, and continuations of a turn that the model server pauses. Default: 25. */
  readonly iterations?: number | undefined;
  /** Calls that the server runs in one turn; the request's `max_tool_calls` may lower it. Default: 128. */
  readonly calls?: number | undefined;
  /** Calls of one round that run at the same time. Default: 8. */
  readonly parallelCalls?: number | undefined;
  /**
   * How often in a row the same call may have the same result before the model must answer without tools. Default: 3.
   */
  readonly repeatedCalls?: number | undefined;
  /** One call of a tool, from its beginning or its last progress. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** One call of a tool that makes progress; never less than `timeoutMs`. Default: 600,000. */
  readonly maxMs?: number | undefined;
  /** The result of one call. Default: 1,048,576. */
  readonly outputBytes?: number | undefined;
}

/** How long turns may take, and how many may run at the same time; times are milliseconds. */
export interface TurnLimits {
  /** A whole turn, its wait for a place included. Default: 1,800,000. */
  readonly durationMs?: number | undefined;
  /** Turns that run at the same time; `Infinity` sets no limit. Default: none. */
  readonly concurrentTurns?: number | undefined;
  /** Turns of one tenant that run at the same time; `Infinity` sets no limit. Default: none. */
  readonly concurrentTurnsPerTenant?: number | undefined;
  /**
   * Turns that wait for one of those places, of all tenants; one tenant may have as many as it leaves free. Free places
   * go round between the tenants that wait; with 0 a turn without a place is refused at once. Default: 0.
   */
  readonly queuedTurns?: number | undefined;
  /** How long a turn may wait for its place; one in the background may wait for `durationMs`. Default: 30,000. */
  readonly queueTimeoutMs?: number | undefined;
  /** How long the events of a response in the background are kept after its end. Default: 600,000. */
  readonly eventsTtlMs?: number | undefined;
}

/** What a request, a model, a tool and a turn may use up; `undefined` means the default. */
export interface LimitOptions {
  /** What one request may bring, and what it may read. */
  readonly request?: RequestLimits | undefined;
  /** What one call of a model may take and write. */
  readonly model?: ModelLimits | undefined;
  /** What the tools that the server runs may take in one turn. */
  readonly tools?: ToolLimits | undefined;
  /** How long turns may take, and how many may run at the same time. */
  readonly turns?: TurnLimits | undefined;
}

type LimitGroups = {
  readonly [Group in keyof LimitOptions]-?: {
    readonly [Name in keyof NonNullable<LimitOptions[Group]>]-?: keyof Limits;
  };
};

/** The name of each option in the engine's settings. */
export const LIMIT_GROUPS: LimitGroups = {
  request: {
    bodyBytes: 'bodyBytes',
    bodiesBytes: 'bodiesBytes',
    fileBytes: 'inputFileBytes',
    historyBytes: 'historyBytes',
    storeTimeoutMs: 'storeTimeoutMs',
  },
  model: {
    openAfterMs: 'openAfterMs',
    firstByteTimeoutMs: 'firstByteTimeoutMs',
    idleTimeoutMs: 'idleTimeoutMs',
    outputBytes: 'outputBytes',
  },
  tools: {
    iterations: 'toolIterations',
    calls: 'toolCalls',
    parallelCalls: 'parallelTools',
    repeatedCalls: 'repeatedCalls',
    timeoutMs: 'toolTimeoutMs',
    maxMs: 'toolMaxMs',
    outputBytes: 'toolOutputBytes',
  },
  turns: {
    durationMs: 'durationMs',
    concurrentTurns: 'concurrentTurns',
    concurrentTurnsPerTenant: 'concurrentTurnsPerTenant',
    queuedTurns: 'queuedTurns',
    queueTimeoutMs: 'queueTimeoutMs',
    eventsTtlMs: 'eventsTtlMs',
  },
};

const positive: OptionCheck = (value) => (typeof value === 'number' && value > 0) || 'a positive number';
const countOrNone: OptionCheck = (value) =>
  (Number.isSafeInteger(value) && (value as number) >= 0) || 'a whole number, or 0 for none';

/** Where zero or `Infinity` means something. */
const OWN_CHECKS: Readonly<Record<string, OptionCheck>> = {
  queuedTurns: countOrNone,
  openAfterMs: millisecondsOrNever,
};

/** Every limit of the engine; throws a `TypeError` that names the group and the option, and quotes its value. */
export function limitSettings(owner: string, options: LimitOptions = {}): Limits {
  const groups = Object.entries(LIMIT_GROUPS);
  checkOptions(`${owner}: limits`, options, Object.fromEntries(groups.map(([group]) => [group, isObject])));
  const chosen: Partial<Record<keyof Limits, number>> = {};
  for (const [group, names] of groups) {
    // The cast: the names of the table are those of the options.
    const limits = (options[group as keyof LimitOptions] ?? {}) as Readonly<Record<string, number | undefined>>;
    const checks: Record<string, OptionCheck> = {};
    for (const name in names) checks[name] = OWN_CHECKS[name] ?? (name.endsWith('Ms') ? anyMilliseconds : positive);
    checkOptions(`${owner}: limits.${group}`, limits, checks);
    for (const [name, setting] of Object.entries(names)) chosen[setting] = limits[name] ?? DEFAULT_LIMITS[setting];
  }
  const settings: Limits = { ...DEFAULT_LIMITS, ...chosen };
  const { bodyBytes, bodiesBytes, eventBytes } = settings;
  const outputBytes = options.model?.outputBytes ?? 0;
  return {
    ...settings,
    // A host that takes longer bodies than the default takes as many of them at the same time.
    bodiesBytes: options.request?.bodiesBytes ?? Math.max(bodiesBytes, 8 * bodyBytes),
    // An image that a model may write must fit into one event. No event is without a bound, as it is held until its end.
    eventBytes: Number.isFinite(outputBytes) ? Math.max(eventBytes, outputBytes) : eventBytes,
  };
}
