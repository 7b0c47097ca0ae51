/** Collects what the code prints, up to a limit. */
import { utf8Of } from './text-coding.ts';

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
  let kept = 0;
  let seen = 0;
  return {
    write(bytes) {
      seen += bytes.length;
      // Copied, because the memory under it is Python's.
      const part = bytes.slice(0, Math.max(0, limit - kept));
      if (part.length > 0) parts.push(part);
      kept += part.length;
      return bytes.length;
    },
    take() {
      const note = seen > kept ? `\n[cut after ${kept} of ${seen} bytes]\n` : '';
      const taken = joined([...parts, utf8Of(note)]);
      parts = [];
      kept = 0;
      seen = 0;
      return taken;
    },
  };
}

/** Concatenates the parts. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
