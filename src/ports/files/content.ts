/** The content of a file, which is a stream, as bytes in one piece and back. */

/** The bytes of a file, up to a limit. Throws a `RangeError` beyond it. */
export async function allBytes(content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of content) {
    length += piece.byteLength;
    if (length > maxBytes) throw new RangeError(`The file has more than ${maxBytes} bytes.`);
    pieces.push(new Uint8Array(piece));
  }
  return Buffer.concat(pieces);
}

/** The content as a stream of one piece. */
export async function* inOnePiece(data: Uint8Array): AsyncIterable<Uint8Array> {
  if (data.byteLength > 0) yield data;
}
