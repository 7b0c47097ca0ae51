/** Bounds the times after which a server of events has its client reconnect. */

/** Milliseconds within which a `retry` is obeyed: a server sets neither our rate of requests nor how long we wait. */
const MIN_RETRY_MS = 1000;
/** The other end. */
const MAX_RETRY_MS = 30_000;

/** What may become a line with the field, and is held back until it ends. */
const BEGUN = /^(?:r|re|ret|retr|retry|retry: ?\d*)$/;
const MARKS = /^\ufeff+/;
const RETRY = /^retry: ?(\d+)$/;
/** A longer line has more digits than any time: it is spoilt, so that it need not be held back whole. */
const MAX_LINE = 32;

/** Returns a function through which the texts of one stream go; its lines end in line feeds, wherever it is split. */
export function boundedRetries(): (text: string) => string {
  let held = '';
  let isInLine = false;
  let hasBegun = false;
  return (given) => {
    // Each reader behind this one takes one such mark for none.
    const text = hasBegun ? given : given.replace(MARKS, '');
    hasBegun ||= text !== '';
    const lines = (held + text).split('\n');
    const last = lines.pop() ?? '';
    const written = lines.map((line, at) => `${at === 0 && isInLine ? line : boundRetry(line)}\n`).join('');
    if (lines.length > 0) isInLine = false;
    const isHeld = !isInLine && (last === '' || BEGUN.test(last));
    held = isHeld && last.length <= MAX_LINE ? last : '';
    isInLine = held === '' && (isInLine || last !== '');
    if (!isHeld) return written + last;
    return held === last ? written : `${written}retry: none`;
  };
}

function boundRetry(line: string): string {
  const ms = RETRY.exec(line)?.[1];
  return ms === undefined ? line : `retry: ${Math.min(Math.max(Number(ms), MIN_RETRY_MS), MAX_RETRY_MS)}`;
}
