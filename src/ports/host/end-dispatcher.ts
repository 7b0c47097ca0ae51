/** Ends what undici keeps open, in runtimes whose undici has no such end, too. */

/** What dispatchers of undici have; Bun puts a package of its own in its place, whose dispatchers keep nothing open. */
interface EndingDispatcher {
  readonly closed?: boolean;
  close?(): Promise<void>;
  destroy?(): Promise<void>;
}

/** `close` lets the requests that run end, `destroy` ends them. May be called twice. */
export async function endDispatcher(dispatcher: EndingDispatcher, how: 'close' | 'destroy'): Promise<void> {
  if (how === 'close' && dispatcher.closed) return;
  await dispatcher[how]?.();
}
