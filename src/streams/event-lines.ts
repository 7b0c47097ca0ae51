/** One spelling of event streams for their parser, whatever their server writes. */

/** What the parser takes no offence at. */
const KNOWN_LINE = /^(?:(?:data|event|id)?(?::|$)|retry: ?\d{1,15}$)/;

/**
 * Takes the text of one event stream piece by piece, in order, and answers it with every line end as a line feed and
 * without the lines that mean nothing. The parser looks for both kinds of line ends from each line on, which costs it the
 * square of a piece's length, and makes an error with a stack of each line that it does not know.
 */
export function eventLines(): (piece: string) => string {
  let isAfterCR = false;
  return (piece) => {
    if (piece === '') return piece;
    const text = isAfterCR && piece.startsWith('\n') ? piece.slice(1) : piece;
    isAfterCR = piece.endsWith('\r');
    const lines = text.includes('\r') ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text;
    return hasOnlyEvents(lines) ? lines : withoutUnknown(lines);
  };
}

/** The hot path: nearly all that servers write is fit for the parser as it is. */
function hasOnlyEvents(text: string): boolean {
  for (let at = text.indexOf('\n') + 1; at !== 0; at = text.indexOf('\n', at) + 1) {
    const isEvent = at === text.length || text.startsWith('data:', at) || text.startsWith('\n', at);
    if (!isEvent && !text.startsWith('event:', at) && !text.startsWith(':', at) && !text.startsWith('id:', at))
      return false;
  }
  return true;
}

/** The first line may have begun in an earlier piece, and the last may go on in the next: they stay. */
function withoutUnknown(text: string): string {
  const lines = text.split('\n');
  const last = lines.length - 1;
  return lines.filter((line, index) => index === 0 || index === last || KNOWN_LINE.test(line)).join('\n');
}
