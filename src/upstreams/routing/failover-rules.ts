/** Decides by an error whether another server may do better: the documentation of many model servers has the same as a table. */
import { ApiError } from '../../protocol/errors.ts';
import { CONTEXT_OVERFLOW } from '../../protocol/upstream-errors/context-overflow.ts';

/** Whether the call is made again at another server, where nothing of the answer was handed on. */
export type FailoverRule = (error: unknown) => boolean;

/** Any other server would answer the same, whatever the status. */
const OF_THE_REQUEST: ReadonlySet<string> = new Set([
  CONTEXT_OVERFLOW,
  'content_filter',
  'content_policy_violation',
  'output_too_large',
  'duration_exceeded',
]);

/** For several servers: a server that is down, busy, slow or broken. */
export const isServerFault: FailoverRule = (error) => {
  if (!(error instanceof ApiError) || OF_THE_REQUEST.has(error.code)) return false;
  return error.status === 408 || error.status === 429 || error.status >= 500;
};

const OF_THE_KEY: ReadonlySet<number> = new Set([401, 402, 429]);

/** For several keys of one server: a key that is throttled, has no credit or is refused. */
export const isKeyFault: FailoverRule = (error) => error instanceof ApiError && OF_THE_KEY.has(error.status);
