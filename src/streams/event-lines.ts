/** Puts the event streams of servers into the form that their parser takes: line by line, and event by event. */
import { jsonIn } from '../protocol/json/json-text.ts';
import { isDone } from './sse-frames.ts';

/** The lines that the parser accepts without an error. */
const KNOWN_LINE = /^(?:(?:data|event|id)?(?::|$)|retry: ?\d{1,15}$)/;

/**
 * Takes the text of one event stream piece by piece, in order, and returns it with every line end as a line feed,
 * without a byte order mark and without meaningless lines. The parser searches for both kinds of line ends from each line on, which is quadratic in a
 * piece's length, and creates an error with a stack for each unknown line.
 */
export function eventLines(): (piece: string) => string {
  let isBeginning = true;
  let isAfterCR = false;
  return (piece) => {
    if (piece === '') return piece;
    // A byte order mark would make the first line one of an unknown field.
    const isOmitted = (isBeginning && piece.startsWith('\ufeff')) || (isAfterCR && piece.startsWith('\n'));
    const text = isOmitted ? piece.slice(1) : piece;
    isBeginning = false;
    isAfterCR = piece.endsWith('\r');
    const lines = text.includes('\r') ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text;
    if (hasOnlyEvents(lines)) return lines;
    const list = lines.split('\n');
    // The first line may have begun in an earlier piece, and the last may continue in the next: they stay.
    return list.filter((line, at) => at === 0 || at === list.length - 1 || KNOWN_LINE.test(line)).join('\n');
  };
}

/** The hot path: nearly all servers send text that the parser can take as it is. */
function hasOnlyEvents(text: string): boolean {
  for (let at = text.indexOf('\n') + 1; at !== 0; at = text.indexOf('\n', at) + 1) {
    const isEvent = at === text.length || text.startsWith('data:', at) || text.startsWith('\n', at);
    if (!isEvent && !text.startsWith('event:', at) && !text.startsWith(':', at) && !text.startsWith('id:', at))
      return false;
  }
  return true;
}

/**
 * Splits an event that a server wrote without the blank lines between several, which the format's own rules join into one.
 * Returns the data of each: its lines, if each is an object by itself (or the end marker) and all together are not JSON.
 * Every character is read twice at most.
 */
export function splitEvents(data: string): readonly string[] {
  const lines = data.split('\n').filter((line) => line !== '');
  const isApart = lines.every((line) => line.startsWith('{') || isDone(line));
  if (lines.length < 2 || !isApart || jsonIn(data) !== undefined) return [data];
  return lines.every((line) => isDone(line) || jsonIn(line) !== undefined) ? lines : [data];
}

/** Whether a body of this content type is an event stream. */
export function isEventStreamType(contentType: string | null | undefined): boolean {
  return /^text\/event-stream\b/i.test(contentType ?? '');
}
