/** Normalizes event streams for their parser. */

/** The lines that the parser accepts without an error. */
const KNOWN_LINE = /^(?:(?:data|event|id)?(?::|$)|retry: ?\d{1,15}$)/;

/**
 * Takes the text of one event stream piece by piece, in order, and returns it with every line end as a line feed and
 * without meaningless lines. The parser searches for both kinds of line ends from each line on, which is quadratic in a
 * piece's length, and creates an error with a stack for each unknown line.
 */
export function eventLines(): (piece: string) => string {
  let isAfterCR = false;
  return (piece) => {
    if (piece === '') return piece;
    const text = isAfterCR && piece.startsWith('\n') ? piece.slice(1) : piece;
    isAfterCR = piece.endsWith('\r');
    const lines = text.includes('\r') ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text;
    return hasOnlyEvents(lines) ? lines : dropUnknownLines(lines);
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

/** The first line may have begun in an earlier piece, and the last may continue in the next: they stay. */
function dropUnknownLines(text: string): string {
  const lines = text.split('\n');
  const last = lines.length - 1;
  return lines.filter((line, index) => index === 0 || index === last || KNOWN_LINE.test(line)).join('\n');
}
