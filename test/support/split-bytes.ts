/** Cuts bytes as a network may. */

/** The bytes in pieces that end at these offsets, in any order. */
export function* splitBytes(bytes: Buffer, offsets: readonly number[]): Iterable<Buffer> {
  let start = 0;
  for (const end of [...offsets].sort((one, other) => one - other)) {
    if (end > start) yield bytes.subarray(start, end);
    start = Math.max(start, end);
  }
  yield bytes.subarray(start);
}
