/** Reads how long a model server asks to be left alone. */

/** In milliseconds; `retry-after` holds seconds or a date. Undefined if the headers do not hold it. */
export function retryAfterMs(headers: Readonly<Record<string, unknown>>): number | undefined {
  const exact = Number(headers['retry-after-ms']);
  if (headers['retry-after-ms'] !== undefined && exact >= 0) return exact;
  const value = headers['retry-after'];
  if (typeof value !== 'string') return undefined;
  const pause = /^\s*[\d.]+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(pause) ? undefined : Math.max(0, pause);
}
