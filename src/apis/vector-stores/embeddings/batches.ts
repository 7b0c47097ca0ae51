/** Divides texts into the requests that embed them. */

/** The limits of one request. */
interface BatchLimits {
  readonly texts: number;
  /** The tokens of all texts together; a text that has more is sent alone. */
  readonly tokens: number;
}

/** The texts in their order, in as few requests as the limits allow. */
export function batchesOf(
  texts: readonly string[],
  limits: BatchLimits,
  tokensOf: (text: string) => number,
): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let room = 0;
  for (const text of texts) {
    const tokens = tokensOf(text);
    let batch = batches.at(-1);
    if (!batch || batch.length >= limits.texts || tokens > room) {
      batch = [];
      batches.push(batch);
      room = limits.tokens;
    }
    batch.push(text);
    room -= tokens;
  }
  return batches;
}
