/** Times as OpenAI's resources hold them. */

/** Whole seconds since the epoch; of the present moment without `ms`. */
export function unixSeconds(ms: number = Date.now()): number {
  return Math.floor(ms / 1000);
}
