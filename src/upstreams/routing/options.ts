/** The options that `withFailover` and `balanced` share, checked once. */
import {
  boolean,
  checkOptions,
  isFunction,
  isObject,
  MAX_MS,
  milliseconds,
  type OptionCheck,
  positiveInteger,
} from '../../ports/host/options-check.ts';
import type { ModelServerStatus } from '../../ports/upstream.ts';
import type { PolicySettings } from './policies.ts';
import { isName, MAX_SERVERS } from './targets.ts';

/** When a server is left alone after failures. */
export interface BreakerOptions {
  /** Failures in a row after which it is. Default: 5. */
  readonly failures?: number | undefined;
  /** Milliseconds until one call at a time may try it again. Default: 30,000. */
  readonly resetMs?: number | undefined;
}

/** How many calls a server may have. */
export interface BulkheadOptions {
  /** The calls of one server at the same time; further ones go to other servers. */
  readonly calls: number;
}

/** How failures of servers are met. `undefined` means omitted. */
export interface FailoverOptions {
  /** Names the upstream in the status and in the path of its servers. Default: the name of the function. */
  readonly name?: string | undefined;
  /** The circuit breaker of each server, by the package cockatiel; false for none. Default: those of `BreakerOptions`. */
  readonly breaker?: BreakerOptions | false | undefined;
  /** The calls that each server may have at once; one that has them is passed over. Default: any number. */
  readonly bulkhead?: BulkheadOptions | undefined;
  /**
   * Whether calls carry keys of the clients, as the option `headers` of an upstream sends them. A 429 is then about one
   * client: another server is asked, but the one that answered it neither rests nor counts a failure. Default: false.
   */
  readonly clientKeys?: boolean | undefined;
  /**
   * Runs when a server begins to rest (`open`), is tried by one call (`half-open`) and takes calls again (`closed`), for alerts.
   * An error that it throws becomes a process warning. Default: nothing.
   */
  readonly onState?: ((server: ModelServerStatus) => void) | undefined;
  /** The servers that one call may ask. Default: all, but at most 5. */
  readonly attempts?: number | undefined;
  /** Milliseconds that each server has to send its first byte, if less than `limits.model.firstByteTimeoutMs`. Default: that limit. */
  readonly firstByteTimeoutMs?: number | undefined;
}

/** The options with every default filled in. */
interface FailoverSettings {
  readonly name: string;
  readonly policies: PolicySettings;
  readonly attempts: number;
  readonly firstByteTimeoutMs: number | undefined;
}

const HIGHEST = 1_000_000;
const USUAL_ATTEMPTS = 5;

const count =
  (most: number): OptionCheck =>
  (value) =>
    (positiveInteger(value) === true && Number(value) <= most) || `a whole number from 1 to ${most}`;

const CHECKS: Readonly<Record<keyof FailoverOptions, OptionCheck>> = {
  name: isName,
  breaker: (value) => value === false || isObject(value) === true || 'an object or false',
  bulkhead: isObject,
  clientKeys: boolean,
  onState: isFunction,
  attempts: count(MAX_SERVERS),
  firstByteTimeoutMs: milliseconds,
};

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function failoverSettings(
  owner: string,
  options: FailoverOptions,
  more: Readonly<Record<string, OptionCheck>> = {},
): FailoverSettings {
  checkOptions(owner, options, { ...CHECKS, ...more });
  const {
    name = owner,
    breaker = {},
    bulkhead,
    attempts = USUAL_ATTEMPTS,
    firstByteTimeoutMs,
    clientKeys = false,
    onState,
  } = options;
  if (bulkhead) checkOptions(`${owner}: bulkhead`, Object.assign({ calls: null }, bulkhead), { calls: count(HIGHEST) });
  if (breaker) checkOptions(`${owner}: breaker`, breaker, { failures: count(HIGHEST), resetMs: milliseconds });
  const { failures = 5, resetMs = 30_000 } = breaker || {};
  const facts = { owner, calls: bulkhead?.calls, clientKeys, onState };
  const policies = { ...facts, breaker: breaker ? { failures, resetMs } : undefined };
  return { name, policies, attempts, firstByteTimeoutMs };
}

/** The check of a time that may be none. */
export const waitMs: OptionCheck = (value) =>
  (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_MS) ||
  `a whole number of milliseconds from 0 to ${MAX_MS}`;
