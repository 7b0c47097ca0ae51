/** The smallest chunk: text alone. */

/** What a chunk says that says one thing alone. */
export interface PlainDelta {
  readonly text: string;
  /** The number of the call whose arguments the text goes on with; undefined where it is the answer's own. */
  readonly call: number | undefined;
  /** The JSON of each log probability of the text, with commas between them. */
  readonly logprobs: string;
}
