/** The author of a delta. */

/** Whether the author is not the model, for example a tool of the server's own; most deltas name no role. */
export function isOthers(role: unknown): role is string {
  return typeof role === 'string' && role !== '' && role !== 'assistant' && role.toLowerCase() !== 'assistant';
}
