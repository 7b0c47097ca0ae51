/** Tells what a request itself brought from what was put in front of it. */
import type { TurnContext } from './context.ts';

/** The members that the client itself sent; the very value where nothing was loaded. */
export function ownInput(input: unknown, history: TurnContext['history']): unknown {
  if (!history || history.loaded.length === 0 || !Array.isArray(input)) return input;
  const { loaded } = history;
  // The usual case needs no set: only a host moves what was loaded.
  if (loaded.every((member, index) => member === input[index])) return input.slice(loaded.length);
  const known = new Set(loaded);
  return input.filter((member) => !known.has(member));
}
