/** Records what happens to requests: failures and steps in the host's log, and what the status is made of. */
import { debuglog, inspect } from 'node:util';
import type { Hooks, Recorder, ReportInfo, Reports, ResponseInfo, ToolCallInfo } from '../../ports/hooks.ts';
import { errorCodeName, logError, stackPlaces, warnOfError } from '../../ports/host/error-warning.ts';
import { type HostLog, hostLog, type LogFields, type Logger } from '../../ports/host/logger.ts';
import { processWarning } from '../../ports/host/warner.ts';
import type { OnStep, Step } from '../../ports/step.ts';
import type { ApiError } from '../../protocol/errors.ts';
import { isError } from '../../protocol/record.ts';
import { RouterHealth } from './health.ts';

/** Shown by `NODE_DEBUG=express-open-responses`. */
const debug = debuglog('express-open-responses');

/** What the host's own functions are recorded with, too. */
export interface HostRecorder extends Recorder {
  readonly health: RouterHealth;
  /** Reports an error of the host's own functions for which there is no request to fail and no handler to pass it to. */
  onHostError(error: unknown): void;
  /** Warns the host of what it should set otherwise: in its log, or as a process warning. */
  warn(message: string): void;
  /** Writes a line of information, which nobody sees by default. */
  announce(message: string, fields: LogFields): void;
}

/** The host's hooks with the recorder. Each is called on the host's own object, which may be that of a class. */
export function hostReports(hooks: Hooks, recorder: Recorder): Reports {
  const { onRequest, onTurn, onResponse, onAttempt, onToolCall, onToolProgress, onApproval, onGuard, onError, onNote } =
    hooks;
  return {
    recorder,
    onRequest: onRequest?.bind(hooks),
    onTurn: onTurn?.bind(hooks),
    onResponse: onResponse?.bind(hooks),
    onAttempt: onAttempt?.bind(hooks),
    onToolCall: onToolCall?.bind(hooks),
    onToolProgress: onToolProgress?.bind(hooks),
    onApproval: onApproval?.bind(hooks),
    onGuard: onGuard?.bind(hooks),
    onError: onError?.bind(hooks),
    onNote: onNote?.bind(hooks),
  };
}

/** The recorder of one router or middleware. */
export class LoggingRecorder implements HostRecorder {
  readonly health = new RouterHealth();
  private readonly log: HostLog | undefined;
  /** Whether nobody else receives failures. */
  private readonly warns: boolean;
  private readonly isSilent: boolean;
  private readonly write: OnStep = (step) => this.writeStep(step);

  /** `logger` is the option; false for no lines. The host's hook takes the place of warnings, but not of the log. */
  constructor(logger: Logger | false | undefined, hooks: Hooks) {
    this.log = logger ? hostLog(logger) : undefined;
    this.isSilent = logger === false;
    this.warns = logger === undefined && hooks.onError === undefined;
  }

  get onStep(): OnStep | undefined {
    return debug.enabled || this.log?.showsDebug ? this.write : undefined;
  }

  onResponse({ requestId, responseId, status, durationMs: ms, usage }: ResponseInfo): void {
    if (status !== 'failed') this.health.upstream.succeeded();
    const { input_tokens: inputTokens, output_tokens: outputTokens } = usage;
    this.onStep?.({ name: 'ended', requestId, responseId, status, ms, inputTokens, outputTokens });
  }

  onToolCall({ requestId, server, name: tool, durationMs: ms, error }: ToolCallInfo): void {
    this.onStep?.({ name: 'tool called', requestId, tool, server, ms, ok: error === undefined });
  }

  onError(error: ApiError, info: ReportInfo): void {
    this.health.noteError(error);
    this.onStep?.({ name: 'failed', requestId: info.requestId, code: errorCodeName(error), status: error.status });
    if (this.log) logError(this.log, error, info);
    else if (this.warns) warnOfError(error, info);
  }

  onFault(name: string, error: unknown): void {
    if (this.isSilent) return;
    if (!this.log) return processWarning(`${name} threw: ${error}`);
    this.log.write('warn', `${name} threw, which affected no request.`, errorFields(error));
  }

  onHostError(error: unknown): void {
    if (this.isSilent) return;
    if (!this.log) return processWarning(inspect(error));
    this.log.write('error', 'A function of the host threw.', errorFields(error));
  }

  warn(message: string): void {
    if (this.isSilent) return;
    if (!this.log) return processWarning(message);
    this.log.write('warn', message, {});
  }

  announce(message: string, fields: LogFields): void {
    if (debug.enabled) debug('%s', stepLine(message, fields));
    this.log?.write('info', message, fields);
  }

  private writeStep({ name, ...facts }: Step): void {
    if (debug.enabled) debug('%s', stepLine(name, facts));
    if (this.log?.showsDebug) this.log.write('debug', name, facts);
  }
}

/** Without the message, which may contain anything. */
function errorFields(error: unknown): LogFields {
  return { error: isError(error) ? error.name : typeof error, at: stackPlaces(error) };
}

/** Characters of a value: a model's name is whatever a client wrote. */
const MAX_CHARACTERS = 128;
/** What needs no quotes; anything else could forge a line, or colour a terminal. */
const PLAIN = /^[\w.:/@-]+$/;

/** Such as `stored requestId=req_1 ms=3`. */
function stepLine(name: string, facts: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(facts).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const text = String(value).slice(0, MAX_CHARACTERS);
    if (PLAIN.test(text)) return [`${key}=${text}`];
    const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return [`${key}=${JSON.stringify(text).replace(/[^ -~]/g, escapeCharacter)}`];
  });
  return [name, ...fields].join(' ');
}
