/** Whose words a delta is. */

/** Whether somebody but the model speaks, such as a tool of the server's own; most deltas name no role. */
export function isOthers(role: unknown): role is string {
  return typeof role === 'string' && role !== '' && role !== 'assistant' && role.toLowerCase() !== 'assistant';
}
