/** Has one line answered by an API, again after failures that may pass. */
import { setTimeout as pause } from 'node:timers/promises';
import { areHarmless } from '../../../engine/turn/observe.ts';
import { retryAfterMs } from '../../../ports/host/retry-after.ts';
import { ApiError, toApiError } from '../../../protocol/errors.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, plainText } from '../../../protocol/record.ts';
import type { BatchLimits } from '../limits.ts';
import type { LineApis, LineReply, LineRequest } from '../settings.ts';

/** The statuses of failures that may pass. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504, 529]);
/** What no further attempt changes within minutes. */
const LASTING: ReadonlySet<unknown> = new Set(['insufficient_quota', 'output_too_large']);
/** This server has no place now: the line waits, as long as the batch may. */
const NO_PLACE: ReadonlySet<unknown> = new Set(['too_many_streams', 'too_many_bodies', 'server_draining']);
const MAX_PAUSE_MS = 60_000;
/** Budgets have windows of hours; a model server that asks for days is not believed. */
const MAX_ASKED_MS = 4 * 60 * 60_000;

/** A line's place in this process, which it leaves while it waits for its next attempt. */
interface LinePlace {
  enter(): Promise<void>;
  leave(): void;
}

/** What one attempt came to. */
interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * The answer to a line that has its place, and has it then; an error of the APIs is one, too. Rejects with what `place.enter` does,
 * and once the signal is aborted.
 */
export async function answerLine(
  request: LineRequest,
  apis: LineApis,
  { lineAttempts, retryMs, answerBytes }: Pick<BatchLimits, 'lineAttempts' | 'retryMs' | 'answerBytes'>,
  place: LinePlace,
): Promise<Answer> {
  const { signal } = request;
  for (let attempt = 1; ; ) {
    let answer: Answer & Pick<LineReply, 'headers'>;
    try {
      const { body: text, ...reply } = await apis.answer(request, answerBytes);
      answer = { ...reply, body: jsonIn(text) ?? null };
      // The model server's own, which is passed on.
      if (answer.status < 300 && !isRecord(answer.body))
        throw new ApiError('upstream_error', "The model server's answer is not a JSON object.");
    } catch (error) {
      signal.throwIfAborted();
      const { status, headers, body } = toApiError(error);
      answer = { status, headers, body: { error: body } };
    }
    // An answer to a request that was given up is none.
    signal.throwIfAborted();
    const { status, code } = readFailure(answer);
    // The APIs without a place for a failure beside its output say thereby that a tool may have taken effect.
    const isFinal = answer.headers['x-should-retry'] === 'false' && !NO_PLACE.has(code);
    const mayPass = PASSING.has(status) && !LASTING.has(code) && !isFinal;
    if (!mayPass || (attempt >= lineAttempts && !NO_PLACE.has(code))) return answer;
    const pauseMs = retryPauseMs(answer.headers, attempt, retryMs);
    if (!NO_PLACE.has(code)) attempt += 1;
    place.leave();
    await pause(pauseMs, undefined, { signal, ref: false });
    await place.enter();
  }
}

/**
 * The code of the answer's error, and the status that it has or, for a response that failed after its model had begun to write, would
 * have had: such a response is made again, unless a tool may have taken effect in it.
 */
function readFailure({ status, body }: Answer): { readonly status: number; readonly code: unknown } {
  if (!isRecord(body) || !isRecord(body.error)) return { status, code: undefined };
  const { error, output } = body;
  if (status >= 300) return { status, code: error.code };
  if (!Array.isArray(output) || !areHarmless(output)) return { status, code: error.code };
  const [code, reason] = [plainText(error.code), plainText(error.reason)];
  // The reason may be a provider's own word for a limit of rates, which has no status here.
  const known = reason === '' || code === 'rate_limit_exceeded' ? code : reason;
  return { status: new ApiError(known, '').status, code: reason || code };
}

/** Milliseconds before the next attempt after so many: as long as the answer asks for, else `retryMs` and twice as long each time. */
export function retryPauseMs(headers: LineReply['headers'], attempt: number, retryMs: number): number {
  const askedMs = retryAfterMs(headers);
  if (askedMs !== undefined) return Math.min(Math.max(askedMs, 1), MAX_ASKED_MS);
  return Math.min(retryMs * 2 ** Math.min(attempt - 1, 10), MAX_PAUSE_MS);
}
