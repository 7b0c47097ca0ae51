/** Limits the time that a call of the host's own parts may take. */
import { isPromise } from '../../protocol/record.ts';

class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** The result; rejects with a `TimeoutError` if it takes longer. A synchronous answer costs no timer. */
export function withTimeout<Value>(answer: Promise<Value>, timeoutMs: number, late: () => string): Promise<Value>;
export function withTimeout<Value>(
  answer: Value | Promise<Value>,
  timeoutMs: number,
  late: () => string,
): Value | Promise<Value>;
export function withTimeout<Value>(
  answer: Value | Promise<Value>,
  timeoutMs: number,
  late: () => string,
): Value | Promise<Value> {
  if (!isPromise(answer)) return answer;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimeoutError(late())), timeoutMs);
    // The host's promise may be one that only has `then`.
    Promise.resolve(answer)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
