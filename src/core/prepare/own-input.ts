/** Tells what a request itself brought from what was put in front of it. */
import type { TurnContext } from './context.ts';

/** The members that the client itself sent; the very value where nothing was loaded. */
export function ownInput(input: unknown, history: TurnContext['history']): unknown {
  if (!history || history.loaded.length === 0 || !Array.isArray(input)) return input;
  const known = new Set(history.loaded);
  return input.filter((member) => !known.has(member));
}
