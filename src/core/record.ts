/** The one question asked of every unknown value at the edge. */

/** Whether the value is an object whose fields may be read by name (not an array, not null). */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
