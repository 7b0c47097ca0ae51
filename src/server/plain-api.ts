/** The options in which the APIs that call no model are alike. */
import type { Hooks } from '../ports/hooks.ts';
import { isLogger, type Logger } from '../ports/host/logger.ts';
import { areHooks, isObject, type OptionCheck } from '../ports/host/options-check.ts';

/** What reports of an API go to; `undefined` means omitted. */
export interface PlainOptions {
  /** Receives errors in `onError`, as the other routers' do. Default: none. */
  readonly hooks?: Pick<Hooks, 'onError'> | undefined;
  /** Receives the lines for the host's log. Default: failures are process warnings. */
  readonly logger?: Logger | false | undefined;
}

/** The checks of these options, and that of `limits`. */
export const plainChecks: Readonly<Record<string, OptionCheck>> = {
  limits: isObject,
  hooks: areHooks,
  logger: isLogger,
};
