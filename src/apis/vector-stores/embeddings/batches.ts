/** Divides texts into the requests that embed them. */

/** The limits of one request. */
interface BatchLimits {
  readonly texts: number;
  /** The tokens of all texts together; a text that has more is sent alone. */
  readonly tokens: number;
}

/** The texts in their order, in as few requests as the limits allow. */
export function embeddingBatches(
  texts: readonly string[],
  limits: BatchLimits,
  countTokens: (text: string) => number,
): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let remainingTokens = 0;
  for (const text of texts) {
    const tokens = countTokens(text);
    let batch = batches.at(-1);
    if (!batch || batch.length >= limits.texts || tokens > remainingTokens) {
      batch = [];
      batches.push(batch);
      remainingTokens = limits.tokens;
    }
    batch.push(text);
    remainingTokens -= tokens;
  }
  return batches;
}
