/** The option `multiAgent`, checked. */
import {
  anyMilliseconds,
  checkOptions,
  type OptionCheck,
  positiveInteger,
  wholeNumber,
} from '../../ports/host/options-check.ts';
import { definedFields } from '../../protocol/record.ts';

/** How many agents a response may have, and how long they may take; `undefined` means omitted. */
export interface MultiAgentOptions {
  /** How many agents besides the first may work at the same time, whatever a request asks for; 3 if it asks for nothing. Default: 8. */
  readonly maxConcurrent?: number | undefined;
  /** How many agents besides the first a conversation may have. Default: 16. */
  readonly maxAgents?: number | undefined;
  /** How deep agents may begin agents: with 1, only the first one may. Default: 3. */
  readonly maxDepth?: number | undefined;
  /** How long one task of an agent may take, in milliseconds. Default: 600,000. */
  readonly taskMs?: number | undefined;
  /** How long a response on a WebSocket stays open while all of its agents wait for the client, in milliseconds. Default: 60,000. */
  readonly injectWaitMs?: number | undefined;
}

/** The option with its defaults. */
export type MultiAgentSettings = { readonly [Name in keyof MultiAgentOptions]-?: number };

const DEFAULTS: MultiAgentSettings = {
  maxConcurrent: 8,
  maxAgents: 16,
  maxDepth: 3,
  taskMs: 600_000,
  injectWaitMs: 60_000,
};

const CHECKS: Readonly<Record<keyof MultiAgentOptions, OptionCheck>> = {
  maxConcurrent: positiveInteger,
  maxAgents: positiveInteger,
  maxDepth: wholeNumber(1, 8),
  taskMs: anyMilliseconds,
  injectWaitMs: anyMilliseconds,
};

/** Undefined where it is switched off. Throws a `TypeError` that names the option and quotes its value. */
export function multiAgentSettings(
  owner: string,
  options: boolean | MultiAgentOptions = false,
): MultiAgentSettings | undefined {
  if (options === false) return undefined;
  if (options === true) return DEFAULTS;
  checkOptions(owner, options, CHECKS);
  return { ...DEFAULTS, ...definedFields(options) };
}
