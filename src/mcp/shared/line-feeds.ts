/** One kind of line end in an event stream, whatever its server writes. */

const CR = 13;
const LF = 10;

/**
 * Takes the pieces of one event stream, in order, and answers them with every line end as a line feed. Parsers of event
 * streams look for both kinds from each line on: lines that end in CR alone cost them the square of a piece's length.
 */
export function lineFeeds(): (piece: Uint8Array) => Uint8Array {
  let afterCR = false;
  return (piece) => {
    const begin = afterCR && piece[0] === LF ? 1 : 0;
    if (piece.length > 0) afterCR = piece[piece.length - 1] === CR;
    if (!piece.includes(CR)) return begin === 0 ? piece : piece.subarray(begin);
    return rewritten(piece, begin);
  };
}

function rewritten(piece: Uint8Array, begin: number): Uint8Array {
  const written = new Uint8Array(piece.length);
  let length = 0;
  for (let at = begin; at < piece.length; at += 1) {
    const byte = piece[at] as number;
    // The second half of a CRLF.
    if (byte === LF && at > begin && piece[at - 1] === CR) continue;
    written[length] = byte === CR ? LF : byte;
    length += 1;
  }
  return written.subarray(0, length);
}
