/** Lowers the limit of an answer to what its model takes. */

import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';

/** The request with a limit that the model takes, and what the host is told of it. */
interface LimitedRequest {
  readonly request: ModelRequest;
  readonly note?: Note;
}

/** The same request if nothing is known about the model, or its limit is low enough. */
export function withAnswerLimit(request: ModelRequest, most: number | undefined): LimitedRequest {
  const { maxOutputTokens: limit } = request;
  if (limit === undefined || most === undefined || limit <= most) return { request };
  return {
    request: { ...request, maxOutputTokens: most },
    note: { code: 'setting_dropped', message: loweredLimitMessage(limit, most) },
  };
}

/** What is said of it. */
export function loweredLimitMessage(limit: number, most: number): string {
  return `The model server takes a limit of at most ${most} tokens for an answer; ${limit} is lowered to it.`;
}
