/** The smallest chunk: text alone. */

/** The content of a chunk with a single delta. */
export interface PlainDelta {
  readonly text: string;
  /** The number of the call whose arguments the text continues; undefined if the text is the answer's own. */
  readonly call: number | undefined;
  /** The JSON of each log probability of the text, separated by commas. */
  readonly logprobs: string;
}
