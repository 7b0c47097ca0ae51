/** One delta of a chunk: its author, and the smallest there is, of text alone. */

/** The content of a chunk with a single delta. */
export interface PlainDelta {
  readonly text: string;
  /** The number of the call whose arguments the text continues; undefined if the text is the answer's own. */
  readonly call: number | undefined;
  /** The JSON of each log probability of the text, separated by commas. */
  readonly logprobs: string;
}

/** Whether the author is not the model, for example a tool of the server's own; most deltas name no role. */
export function isForeignRole(role: unknown): role is string {
  return typeof role === 'string' && role !== '' && role !== 'assistant' && role.toLowerCase() !== 'assistant';
}
