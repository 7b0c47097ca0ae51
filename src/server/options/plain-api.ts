/** The options in which the APIs that call no model are alike. */
import { openai } from '../../apis/dialects/dialects.ts';
import type { EndpointSettings } from '../../apis/endpoint/endpoint.ts';
import type { Hooks } from '../../ports/hooks.ts';
import { isLogger, type Logger } from '../../ports/host/logger.ts';
import { areHooks, boolean, checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import { DEFAULT_LIMITS, type Limits } from '../../ports/limits.ts';
import { continueLate } from '../requests/late-continue.ts';
import { type HostRecorder, hostReports, LoggingRecorder } from '../requests/recorder.ts';

/** What reports of an API go to; `undefined` means omitted. */
export interface PlainOptions {
  /** Receives errors in `onError`, as the other routers' do. Default: none. */
  readonly hooks?: Pick<Hooks, 'onError'> | undefined;
  /** Receives the lines for the host's log. Default: failures are process warnings. */
  readonly logger?: Logger | false | undefined;
  /** Whether `GET /openapi.json` describes the routes. Default: true. */
  readonly openapi?: boolean | undefined;
}

/** The checks of these options. */
export const plainChecks: Readonly<Record<string, OptionCheck>> = {
  hooks: areHooks,
  logger: isLogger,
  openapi: boolean,
};

/** What serving an API takes, whether or not it calls a model. */
export interface PlainSettings extends EndpointSettings {
  readonly limits: Limits;
  readonly recorder: HostRecorder;
  /** The function that the host has called, which messages name. */
  readonly owner: string;
}

const HOOK_CHECKS: Readonly<Record<keyof Hooks, OptionCheck>> = {
  onRequest: isFunction,
  onTurn: isFunction,
  onResponse: isFunction,
  onAttempt: isFunction,
  onToolCall: isFunction,
  onToolProgress: isFunction,
  onApproval: isFunction,
  onGuard: isFunction,
  onError: isFunction,
  onNote: isFunction,
};

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function plainSettings(
  owner: string,
  { hooks = {}, logger }: { readonly hooks?: Hooks | undefined; readonly logger?: Logger | false | undefined },
): PlainSettings {
  checkOptions(`${owner}: hooks`, hooks, HOOK_CHECKS);
  const recorder = new LoggingRecorder(logger, hooks);
  continueLate();
  return { dialectOf: () => openai, hooks: hostReports(hooks, recorder), limits: DEFAULT_LIMITS, recorder, owner };
}
