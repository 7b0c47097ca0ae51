/** Cuts bytes as a network may. */
import fc from 'fast-check';

/** The bytes in pieces that end at these offsets, in any order. */
export function* splitBytes(bytes: Buffer, offsets: readonly number[]): Iterable<Buffer> {
  let start = 0;
  for (const end of [...offsets].sort((one, other) => one - other)) {
    if (end > start) yield bytes.subarray(start, end);
    start = Math.max(start, end);
  }
  yield bytes.subarray(start);
}

/** Reads the bytes whole and in random pieces, so many times: the events must be the same. */
export async function sameInAnyPieces(
  bytes: Buffer,
  read: (pieces: Iterable<Buffer>) => Promise<unknown>,
  numRuns: number,
): Promise<void> {
  const whole = await read([bytes]);
  const cuts = fc.array(fc.nat(bytes.length), { maxLength: 64 });
  await fc.assert(
    fc.asyncProperty(cuts, async (offsets) => {
      expect(await read(splitBytes(bytes, offsets))).toEqual(whole);
    }),
    { numRuns },
  );
}
