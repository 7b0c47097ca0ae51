/** The options that all guards have. */
import type { Guard } from '../../ports/guard.ts';
import { milliseconds, type OptionCheck } from '../../ports/host/options-check.ts';

/** What is done about a finding, and about a failure. */
export type GuardSettingsOptions = Pick<Guard, 'mode' | 'timeoutMs' | 'onFailure'>;

/** One of these texts. */
const oneOf =
  (...known: readonly string[]): OptionCheck =>
  (value) =>
    known.includes(value as string) || `one of ${known.map((each) => `'${each}'`).join(', ')}`;

/** Their checks. */
export const GUARD_CHECKS: Readonly<Record<keyof GuardSettingsOptions, OptionCheck>> = {
  mode: oneOf('monitor', 'redact', 'enforce'),
  timeoutMs: milliseconds,
  onFailure: oneOf('block', 'pass'),
};
