/** Parses external text that may or may not be JSON. */
import { isRecord, type JsonObject } from '../record.ts';

/** The value, or undefined where the text is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object, or undefined where the text is not JSON, or is that of another value. */
export function objectIn(text: string): JsonObject | undefined {
  const value = jsonIn(text);
  return isRecord(value) ? value : undefined;
}
