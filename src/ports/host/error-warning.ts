/** Warns of server errors if the host has no hook for them: a failing model server must not go unnoticed. */
import { inspect } from 'node:util';
import type { ApiError } from '../../protocol/errors.ts';
import { isError } from '../../protocol/record.ts';
import { processWarning } from './warner.ts';

/** At most one warning of each code in this time, in milliseconds. */
const EVERY_MS = 1000;
/** Codes may be any text from a model server: those past this number count as one. */
const MOST_CODES = 64;
/** Characters of the cause, which may hold a server's answer. */
const CAUSE_CHARACTERS = 2000;

interface Warned {
  /** On the clock of `performance.now()`. */
  at: number;
  suppressed: number;
}

const byCode = new Map<string, Warned>();

/**
 * Emits a process warning with the code, the model server's host and the cause, unless this code had a warning
 * recently.
 */
export function warnOfError(error: ApiError, { requestId }: { readonly requestId: string }): void {
  if (!isServers(error)) return;
  const warned = warnedOf(error.code);
  const now = performance.now();
  if (now - warned.at < EVERY_MS) {
    warned.suppressed += 1;
    return;
  }
  const { suppressed } = warned;
  warned.at = now;
  warned.suppressed = 0;
  processWarning(textOf(error, requestId, suppressed));
}

function warnedOf(code: string): Warned {
  const name = byCode.has(code) || byCode.size < MOST_CODES ? code : 'others';
  const warned = byCode.get(name) ?? { at: Number.NEGATIVE_INFINITY, suppressed: 0 };
  byCode.set(name, warned);
  return warned;
}

/**
 * Not a client's mistake. A model server that refuses the configured key or URL does not answer 5xx, but the host must
 * fix it.
 */
function isServers({ status, code, server, cause }: ApiError): boolean {
  if (code === 'server_draining') return false;
  if (status >= 500) return true;
  return server !== undefined && (status === 401 || status === 403 || cause !== undefined);
}

function textOf({ code, status, message, server, cause }: ApiError, requestId: string, suppressed: number): string {
  const parts = [
    `${code} (status ${status}): ${message}`,
    ...(server === undefined ? [] : [`Model server: ${server}.`]),
    ...(cause === undefined ? [] : [`Cause: ${causeText(cause, code)}`]),
    `Request: ${requestId}.`,
    ...(suppressed === 0 ? [] : [`${suppressed} more of this code were not shown.`]),
    'Set hooks.onError to handle errors yourself.',
  ];
  return parts.join(' ');
}

/** A fault of unknown origin is shown with its stack. */
function causeText(cause: unknown, code: string): string {
  const text = isError(cause) && code !== 'server_error' ? nameOf(cause) : inspect(cause, { depth: 2 });
  return text.slice(0, CAUSE_CHARACTERS);
}

/** Connection errors of several addresses have no message of their own. */
function nameOf(cause: Error): string {
  const { errors } = cause as { readonly errors?: unknown };
  const all = cause.message === '' && Array.isArray(errors) ? errors : [cause];
  return all.map(String).join('; ');
}
