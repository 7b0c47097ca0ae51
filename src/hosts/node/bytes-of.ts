/** Finds the bytes that a call of a response's `write` or `end` passes. */

/** The bytes of a chunk, which may be text of some encoding, or missing. */
export function bytesOf([chunk, encoding]: readonly unknown[]): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== 'string') return new Uint8Array();
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
}
