/** Keeps the answers of `fetch`, which hangs up when one that nobody has read to its end is garbage collected. */

const answers: Response[] = [];

/** Keeps this answer until the file's tests have ended. */
export async function held(answer: Promise<Response>): Promise<Response> {
  const kept = await answer;
  answers.push(kept);
  return kept;
}
