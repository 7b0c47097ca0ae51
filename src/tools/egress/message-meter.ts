/** Measures messages in bytes as they pass: a whole body is one message, an event stream has one per event. */

/** The messages in a piece of a body. */
interface Measured {
  /** The size of the largest message in it so far, in bytes. */
  readonly largest: number;
  /** Whether its last message is incomplete. */
  readonly isOpen: boolean;
  /** Whether its last message began in this piece. */
  readonly hasBegun: boolean;
}

/** Takes the pieces of one body, in order. */
export type MessageMeter = (piece: Uint8Array) => Measured;

/** Counts everything as one message. */
export function bodyMeter(): MessageMeter {
  let bytes = 0;
  return (piece) => {
    bytes += piece.length;
    return { largest: bytes, isOpen: true, hasBegun: false };
  };
}

const CR = 13;
const LF = 10;
const COLON = 58;

/**
 * Counts event by event. An event ends at an empty line; a comment is a message of its own only between events, or a
 * server could stretch one event without end by comments between its lines.
 */
export function eventMeter(): MessageMeter {
  let message = 0;
  let line = 0;
  let isLoneComment = false;
  let afterCR = false;

  /** Returns whether the byte ended a message. */
  function endsMessage(byte: number): boolean {
    if (byte === CR || byte === LF) {
      const isEnd = line === 0 || isLoneComment;
      line = 0;
      return isEnd;
    }
    if (line === 0) isLoneComment = byte === COLON && message === 0;
    line += 1;
    return false;
  }

  return (piece) => {
    let largest = 0;
    let hasBegun = false;
    for (const byte of piece) {
      const isSecondHalf = byte === LF && afterCR;
      afterCR = byte === CR;
      if (isSecondHalf) continue;
      hasBegun ||= message === 0;
      const isEnd = endsMessage(byte);
      message += 1;
      if (message > largest) largest = message;
      if (isEnd) message = 0;
    }
    return { largest, isOpen: message > 0, hasBegun };
  };
}
