/** What a guard finds in a text that is read as a whole, or as a window of a longer one. */
import type { Guard, GuardFinding } from '../../../ports/guard.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import type { GuardContext, GuardedPlace } from '../guard/guard-context.ts';
import { type Inspection, inspectText } from '../guard/run-guard.ts';
import { findingsInOriginal, mergeFindings, unescapeText } from './escapes.ts';
import type { Reading } from './reading.ts';

/** Of JSON with more values than these a guard that rewrites several of them rewrites all that lie between. */
const MAX_PARTS = 1000;

/** The findings in the view of a reading, in order. Throws `GuardBlocked`, and `guard_failed`. */
export function findingsInReading(
  guard: Guard,
  reading: Reading,
  at: GuardedPlace,
  context: GuardContext,
): MaybePromise<readonly GuardFinding[]> {
  const { view } = reading;
  const inspect = (text: string) => inspectText(guard, text, at, context);
  const inView = mapMaybePromise(inspect(view), (found) => findingsInParts(found, reading, inspect));
  const decoded = unescapeText(view, true);
  if (!decoded || decoded.places.length > view.length) return inView;
  return mapMaybePromise(inView, (raw) =>
    mapMaybePromise(inspect(decoded.text), ({ findings, isRewritten }) =>
      // The change of a guard that writes the text again may span what was rewritten already.
      isRewritten && raw.length > 0 ? raw : mergeFindings(raw, findingsInOriginal(findings, decoded), decoded),
    ),
  );
}

/** A guard that writes JSON again in several places is asked about each value, so that those between stay as they are. */
function findingsInParts(
  { findings, isRewritten }: Inspection,
  reading: Reading,
  inspect: (text: string) => MaybePromise<Inspection>,
): MaybePromise<readonly GuardFinding[]> {
  const [change] = findings;
  if (!isRewritten || !change || reading.isPlainText) return findings;
  const parts = reading.parts();
  const isInOne = parts.some(({ start, end }) => start <= change.start && change.end <= end);
  if (isInOne || parts.length > MAX_PARTS) return findings;
  const { view } = reading;
  return (async () => {
    const found: GuardFinding[] = [];
    for (const { start, end } of parts)
      for (const each of (await inspect(view.slice(start, end))).findings)
        found.push({ ...each, start: each.start + start, end: each.end + start });
    return found.length > 0 ? found : findings;
  })();
}
