/** Cuts a stream of bytes into lines, of which none may be longer than a limit. */
import { Buffer } from 'node:buffer';

/** Where lines go; `tooLong` is called once, and nothing after it. */
export interface LineTaker {
  line(text: string): void;
  tooLong(): void;
}

const NEWLINE = 0x0a;

/** Takes the chunks of the stream. Not `node:readline`, which also cuts at U+2028, inside JSON. */
export function lineReader(maxBytes: number, taker: LineTaker): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  let broken = false;

  function keep(part: Buffer): void {
    parts.push(part);
    length += part.length;
  }

  return function read(chunk) {
    if (broken) return;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      keep(chunk.subarray(start, end));
      start = end + 1;
      if (length > maxBytes) break;
      const line = Buffer.concat(parts).toString('utf8');
      parts = [];
      length = 0;
      taker.line(line);
    }
    keep(chunk.subarray(start));
    if (length <= maxBytes) return;
    parts = [];
    broken = true;
    taker.tooLong();
  };
}
