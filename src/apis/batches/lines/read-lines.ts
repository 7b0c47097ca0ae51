/** The lines of a file, as its bytes arrive: no more than one line is held at a time. */

/** A line that is not empty. */
export interface InputLine {
  /** Counted from 1, empty lines included. */
  readonly number: number;
  /** Where it begins and ends in the bytes, its line end excluded. */
  readonly start: number;
  readonly end: number;
  /** Undefined if it is longer than allowed. */
  readonly text: string | undefined;
}

const LINE_FEED = 0x0a;
const MARK = '\ufeff';

/** The lines with anything but white space in them; of one with more than `maxBytes` only the place is known. */
export async function* readLines(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<InputLine, void> {
  let number = 1;
  let start = 0;
  let length = 0;
  let pieces: Uint8Array[] = [];

  function line(): InputLine | undefined {
    const isLong = length > maxBytes;
    const text = isLong ? '' : Buffer.concat(pieces).toString('utf8');
    const plain = number === 1 && text.startsWith(MARK) ? text.slice(1) : text;
    const found = { number, start, end: start + length, text: isLong ? undefined : plain.trim() };
    number += 1;
    start += length + 1;
    length = 0;
    pieces = [];
    return found.text === '' ? undefined : found;
  }

  for await (const piece of bytes) {
    for (let from = 0; from < piece.length; ) {
      const feed = piece.indexOf(LINE_FEED, from);
      const to = feed < 0 ? piece.length : feed;
      length += to - from;
      if (length > maxBytes) pieces = [];
      else pieces.push(piece.subarray(from, to));
      from = to + 1;
      const found = feed < 0 ? undefined : line();
      if (found) yield found;
    }
  }
  const last = line();
  if (last) yield last;
}
