/** Files cut into pieces of one length, as databases keep them. */
import type { ByteRange } from '../../ports/files/file-store.ts';
import type { MaybePromise } from '../../ports/store.ts';

/** The length of each piece but the last. Never change it: stored files are found by it. */
const PIECE_BYTES = 256 * 1024;

/** The same bytes in pieces of equal length; only the last may be shorter. */
async function* cutPieces(content: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let piece = Buffer.allocUnsafe(PIECE_BYTES);
  let filled = 0;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.byteLength; ) {
      const part = chunk.subarray(at, at + PIECE_BYTES - filled);
      piece.set(part, filled);
      filled += part.byteLength;
      at += part.byteLength;
      if (filled < PIECE_BYTES) continue;
      yield piece;
      piece = Buffer.allocUnsafe(PIECE_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

/** Passes on the bytes in pieces of equal length, with their places; only the last may be shorter. Returns the number of bytes. */
export async function writePieces(
  content: AsyncIterable<Uint8Array>,
  write: (place: number, piece: Buffer) => MaybePromise<void>,
): Promise<number> {
  let place = 0;
  let bytes = 0;
  for await (const piece of cutPieces(content)) {
    await write(place, piece);
    place += 1;
    bytes += piece.length;
  }
  return bytes;
}

/** The bytes of the range. Throws if a piece is gone, because the file was deleted. */
export async function* readPieces(
  pieceAt: (place: number) => MaybePromise<Uint8Array | undefined>,
  { start, end }: ByteRange,
): AsyncIterable<Uint8Array> {
  for (let at = start; at < end; ) {
    const place = Math.floor(at / PIECE_BYTES);
    const piece = await pieceAt(place);
    if (!piece) throw new Error('The file was deleted while it was read.');
    const wanted = piece.subarray(at - place * PIECE_BYTES, end - place * PIECE_BYTES);
    yield wanted;
    at += wanted.byteLength;
  }
}
