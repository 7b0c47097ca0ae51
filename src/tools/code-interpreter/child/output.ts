/** Collects what the code prints, up to a limit. */
import { encodeUtf8 } from './text-coding.ts';

/** One stream of the code. */
export interface Output {
  /** Takes everything and keeps what fits; returns how many bytes were taken. */
  write(bytes: Uint8Array): number;
  /** Returns what was kept since the last call, with a note if something was cut. */
  take(): Uint8Array;
}

/** `limit` is in bytes. */
export function output(limit: number): Output {
  let parts: Uint8Array[] = [];
  let size = 0;
  let seenSize = 0;
  return {
    write(bytes) {
      seenSize += bytes.length;
      // Copied, because the memory under it is Python's.
      const part = bytes.slice(0, Math.max(0, limit - size));
      if (part.length > 0) parts.push(part);
      size += part.length;
      return bytes.length;
    },
    take() {
      const note = seenSize > size ? `\n[cut after ${size} of ${seenSize} bytes]\n` : '';
      const output = concatBytes([...parts, encodeUtf8(note)]);
      parts = [];
      size = 0;
      seenSize = 0;
      return output;
    },
  };
}

/** Concatenates the parts. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
