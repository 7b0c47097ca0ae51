/** Gathers what the code prints, up to a limit. */
import type { Door } from './door.ts';

/** One stream of the code. */
export interface Output {
  /** Takes everything and keeps what there is room for: how many bytes were taken. */
  write(bytes: Uint8Array): number;
  /** What was kept since it was last asked, with a note where something was cut. */
  take(): string;
}

/** `limit` is in bytes. */
export function output(limit: number, door: Door): Output {
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
      const text = door.decode('utf-8', false, true, joined(parts, kept)) ?? '';
      const note = seen > kept ? `\n[cut after ${kept} of ${seen} bytes]\n` : '';
      parts = [];
      kept = 0;
      seen = 0;
      return text + note;
    },
  };
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
