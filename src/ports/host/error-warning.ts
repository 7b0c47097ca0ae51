/** Reports the server's own errors to its host, as process warnings or in its log: a failing model server must not go unnoticed. */
import { inspect } from 'node:util';
import type { ApiError } from '../../protocol/errors.ts';
import { isError } from '../../protocol/record.ts';
import { errorPage, remedyFor } from './advice.ts';
import { readCauseCode } from './cause-code.ts';
import type { HostLog, LogFields } from './logger.ts';
import { processWarning } from './warner.ts';

/** At most one line of each code in this time, in milliseconds. */
const EVERY_MS = 1000;
/** Codes may be any text from a model server: those past this number count as one. */
const MAX_CODES = 64;

interface LastLine {
  /** On the clock of `performance.now()`. */
  at: number;
  suppressed: number;
}

/** One line a second of each code. */
class RateLimit {
  private readonly byCode = new Map<string, LastLine>();

  /** How many lines of this code were left out since the last one; undefined if this one is to be left out too. */
  take(code: string): number | undefined {
    const shown = this.shownOf(code);
    const now = performance.now();
    if (now - shown.at < EVERY_MS) {
      shown.suppressed += 1;
      return undefined;
    }
    const { suppressed } = shown;
    shown.at = now;
    shown.suppressed = 0;
    return suppressed;
  }

  private shownOf(code: string): LastLine {
    const name = this.byCode.has(code) || this.byCode.size < MAX_CODES ? code : 'others';
    const shown = this.byCode.get(name) ?? { at: Number.NEGATIVE_INFINITY, suppressed: 0 };
    this.byCode.set(name, shown);
    return shown;
  }
}

/** Characters of the cause, which may hold a server's answer. */
const CAUSE_CHARACTERS = 2000;
/** A code may be any text of a model server; these name a kind of error. */
const NAME = /^[\w.:-]{1,64}$/;
/** Limits of the host's own end these requests: nothing is broken. */
const LIMITED: ReadonlySet<string> = new Set(['output_too_large', 'duration_exceeded']);

/** The request of an error, and its response where there is one. */
interface About {
  readonly requestId: string;
  readonly responseId?: string;
}

const warnings = new RateLimit();

/**
 * Emits a process warning with the code, the model server's host, the cause and what to do, unless this code had a
 * warning recently.
 */
export function warnOfError(error: ApiError, { requestId }: About): void {
  if (!isHostProblem(error)) return;
  const suppressed = warnings.take(error.code);
  if (suppressed !== undefined) processWarning(warningText(error, requestId, suppressed));
}

const limits = new WeakMap<HostLog, RateLimit>();

/**
 * The same as a line of the host's log, with fields. It has no text of others: a model server's message may repeat the
 * prompt, and a store's may hold what was to be stored.
 */
export function logError(log: HostLog, error: ApiError, about: About): void {
  if (!isHostProblem(error)) return;
  const limit = limits.get(log) ?? new RateLimit();
  limits.set(log, limit);
  const suppressed = limit.take(error.code);
  if (suppressed === undefined) return;
  const { what, advice } = remedyFor(error);
  const level = LIMITED.has(error.code) ? 'warn' : 'error';
  log.write(level, `${what} ${advice} See ${errorPage(error)}.`, logFields(error, about, suppressed));
}

/**
 * Not a client's mistake. A model server that refuses the configured key or URL does not answer 5xx, but the host must
 * fix it.
 */
export function isHostProblem({ status, code, server, cause }: ApiError): boolean {
  if (code === 'server_draining') return false;
  if (status >= 500) return true;
  return server !== undefined && (status === 401 || status === 403 || cause !== undefined);
}

/** The code, unless it is a text that a model server made up. */
export function errorCodeName({ code }: Pick<ApiError, 'code'>): string {
  return NAME.test(code) ? code : 'other';
}

function warningText(error: ApiError, requestId: string, suppressed: number): string {
  const { code, status, message, server, cause } = error;
  const parts = [
    `${code} (status ${status}): ${sentence(message)}`,
    ...(server === undefined ? [] : [`Model server: ${server}.`]),
    ...(cause === undefined ? [] : [`Cause: ${sentence(causeText(cause, code))}`]),
    `Request: ${requestId}.`,
    ...(suppressed === 0 ? [] : [`${suppressed} more of this code were not shown.`]),
    remedyFor(error).advice,
    `See ${errorPage(error)}.`,
  ];
  return parts.join(' ');
}

function causeText(cause: unknown, code: string): string {
  // A fault of unknown origin is shown with its stack.
  if (!isError(cause) || code === 'server_error') return inspect(cause, { depth: 2 }).slice(0, CAUSE_CHARACTERS);
  // Connection errors of several addresses have no message of their own. The cast: only they have a list of errors.
  const { errors } = cause as { readonly errors?: unknown };
  const all = cause.message === '' && Array.isArray(errors) ? errors : [cause];
  return all.map(String).join('; ').slice(0, CAUSE_CHARACTERS);
}

/** Texts of model servers and of libraries may end without a full stop, or with a line break. */
function sentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function logFields(error: ApiError, { requestId, responseId }: About, suppressed: number): LogFields {
  const { status, server, cause } = error;
  const facts = {
    code: errorCodeName(error),
    status,
    requestId,
    responseId,
    upstream: server,
    cause: readCauseCode(cause) ?? (isError(cause) ? cause.name : undefined),
    at: error.code === 'server_error' ? stackPlaces(cause) : undefined,
    suppressed: suppressed === 0 ? undefined : suppressed,
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

/** Frames of the stack that are shown. */
const MAX_FRAMES = 8;

/** Where an error was thrown, without its message, which may contain anything; undefined if that is not known. */
export function stackPlaces(error: unknown): readonly string[] | undefined {
  if (!isError(error) || typeof error.stack !== 'string') return undefined;
  // The message comes first, and may have lines that look like frames.
  const place = error.stack.indexOf(error.message);
  if (place < 0) return undefined;
  const lines = error.stack.slice(place + error.message.length).split('\n', MAX_FRAMES + 1);
  return lines.slice(1).map((line) => line.trim().replace(/^at /, ''));
}
