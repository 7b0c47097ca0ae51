/** The content of a file, which is a stream, as bytes in one piece and back. */

/** The bytes of a file, up to a limit; `count` is called with the length of each piece. Throws a `RangeError` beyond it, and whatever `count` throws. */
export async function allBytes(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
  count?: (bytes: number) => void,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of content) {
    length += piece.byteLength;
    count?.(piece.byteLength);
    if (length > maxBytes) throw new RangeError(`The file has more than ${maxBytes} bytes.`);
    pieces.push(new Uint8Array(piece));
  }
  return Buffer.concat(pieces);
}

/** The content as a stream of one piece. */
export async function* inOnePiece(data: Uint8Array): AsyncIterable<Uint8Array> {
  if (data.byteLength > 0) yield data;
}
