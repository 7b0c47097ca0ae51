/** Separates a request's own input from the history that was prepended to it. */
import type { TurnContext } from '../../ports/turn-context.ts';

/** The members that the client itself sent; the same value if nothing was loaded. */
export function withoutLoadedHistory(input: unknown, history: TurnContext['history']): unknown {
  if (!history || history.loaded.length === 0 || !Array.isArray(input)) return input;
  const { loaded } = history;
  // The usual case needs no set: only a host moves loaded items.
  let same = 0;
  // A loop: `every` takes ten times as long for thousands of items.
  while (same < loaded.length && input[same] === loaded[same]) same += 1;
  if (same === loaded.length) return input.slice(loaded.length);
  const loadedMembers = new Set(loaded);
  return input.filter((member) => !loadedMembers.has(member));
}
