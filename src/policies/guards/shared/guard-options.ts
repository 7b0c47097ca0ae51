/** The options that all guards have. */
import type { Guard } from '../../../ports/guard.ts';
import { isOneOf, milliseconds, type OptionCheck } from '../../../ports/host/options-check.ts';

/** What is done about a finding, and about a failure. */
export type GuardSettingsOptions = Pick<Guard, 'mode' | 'timeoutMs' | 'onFailure'>;

/** Their checks. */
export const GUARD_CHECKS: Readonly<Record<keyof GuardSettingsOptions, OptionCheck>> = {
  mode: isOneOf('monitor', 'redact', 'enforce'),
  timeoutMs: milliseconds,
  onFailure: isOneOf('block', 'pass'),
};
