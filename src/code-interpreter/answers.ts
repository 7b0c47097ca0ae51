/** Reads the answers of a process that is not believed: frames of JSON, one a line. */
import type { Readable } from 'node:stream';
import { jsonIn } from '../protocol/json-text.ts';
import { isRecord } from '../protocol/record.ts';
import { lineReader } from './lines.ts';

/** A frame as it came. */
export type Frame = Readonly<Record<string, unknown>>;

/** Where to wait for a frame. */
export interface Answers {
  /** The next frame that fits; others that come before it are dropped. One caller at a time. */
  next(fits: (frame: Frame) => boolean): Promise<Frame>;
}

/** Nothing is read after a frame of more than `maxBytes`. */
export function answersOf(stream: Readable, maxBytes: number, tooLong: () => void): Answers {
  let take: (frame: Frame) => void = () => {};

  function line(text: string): void {
    const frame = jsonIn(text);
    if (isRecord(frame)) take(frame);
  }

  stream.on('data', lineReader(maxBytes, { line, tooLong }));
  return {
    next: (fits) =>
      new Promise((resolve) => {
        take = (frame) => {
          if (fits(frame)) resolve(frame);
        };
      }),
  };
}
