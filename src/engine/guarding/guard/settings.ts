/** The option `guards`: checked once, with its defaults. */

import type { Guard, GuardOptions } from '../../../ports/guard.ts';
import {
  checkOptions,
  isOneOf,
  milliseconds,
  type OptionCheck,
  positiveInteger,
} from '../../../ports/host/options-check.ts';
import { isRecord } from '../../../protocol/record.ts';

/** The guards of each direction. */
export interface GuardSettings {
  /** Those of `input` whose findings are replaced for good. */
  readonly input: readonly Guard[];
  /** Those of `input` whose findings come back in the answer. */
  readonly restoring: readonly Guard[];
  readonly output: readonly Guard[];
  readonly tools: readonly Guard[];
}

const isGuardList: OptionCheck = (value) => Array.isArray(value) || 'a list of guards';
const LISTS = { input: isGuardList, output: isGuardList, tools: isGuardList };

/** Undefined if there is no guard; throws a `TypeError` that names the guard at fault. */
export function guardSettings(owner: string, options: GuardOptions<never> | undefined): GuardSettings | undefined {
  if (options === undefined) return undefined;
  checkOptions(owner, options, LISTS);
  // The cast: the request is the host's own, as its guards expect it.
  const { input = [], output = [], tools = [] } = options as GuardOptions;
  for (const [list, guards] of Object.entries({ input, output, tools }))
    for (const [index, guard] of guards.entries()) checkGuard(`${owner}: ${list}[${index}]`, guard, list);
  if (input.length + output.length + tools.length === 0) return undefined;
  return {
    input: input.filter(({ restore }) => !restore),
    restoring: input.filter(({ restore }) => restore),
    output,
    tools,
  };
}

/** Other fields are the guard's own. */
function checkGuard(place: string, guard: unknown, list: string): void {
  if (!isRecord(guard) || typeof guard.inspect !== 'function' || typeof guard.name !== 'string')
    throw new TypeError(`${place} must be a guard, an object with a name and a function inspect`);
  const { mode, timeoutMs, onFailure, restore, lookahead } = guard;
  checkOptions(place, { mode, timeoutMs, onFailure, lookahead }, GUARD_CHECKS);
  if (!restore) return;
  if (list !== 'input')
    throw new TypeError(`${place}: restore is for the guards of input only, whose values are restored in the answer`);
  if ((mode ?? 'redact') !== 'redact') throw new TypeError(`${place}: restore needs the mode 'redact', got '${mode}'`);
}

/** The checks of the options that all guards share. */
const GUARD_CHECKS: Readonly<Record<string, OptionCheck>> = {
  mode: isOneOf('monitor', 'redact', 'enforce'),
  timeoutMs: milliseconds,
  onFailure: isOneOf('block', 'pass'),
  lookahead: positiveInteger,
};
