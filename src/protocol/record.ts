/** Questions asked of values whose kind is not known. */

/** Whether the value is an object whose fields may be read by name (not an array, not null). */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the answer comes later. Not by `instanceof`: promises of other realms and libraries count. */
export function isPromise<Value>(answer: Value | Promise<Value>): answer is Promise<Value> {
  return isRecord(answer) && typeof answer.then === 'function';
}
