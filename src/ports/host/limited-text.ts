/** Reads the answer of a service that the host has named. */

/** The text of a body; undefined if it has more than so many bytes, of which no more are read. */
export async function limitedText(body: AsyncIterable<Uint8Array> | null, most: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
