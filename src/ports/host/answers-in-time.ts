/** Asks a part of the host's whether it answers, for a status. */

/** How long it has to answer, in milliseconds. */
const ANSWER_MS = 1000;

/**
 * Returns a function that says whether the part answers `ask` within a second; it never rejects. A part that hangs has one question at a
 * time, not one a second.
 */
export function answersInTime(ask: () => unknown): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  const answered = async () => {
    try {
      await ask();
      return true;
    } catch {
      return false;
    }
  };
  return () => {
    asking ??= answered().finally(() => {
      asking = undefined;
    });
    const current = asking;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ANSWER_MS);
      void current.then(resolve).finally(() => clearTimeout(timer));
    });
  };
}
