/** One guard over a whole text. */
import { setImmediate } from 'node:timers/promises';
import type { Guard } from '../../../ports/guard.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import type { GuardContext, GuardedPlace } from '../guard/guard-context.ts';
import { editsForFindings, refuseDepth } from '../guard/run-guard.ts';
import { findingsInReading } from './findings.ts';
import { Reading } from './reading.ts';

/** How much is read without a pause. */
const SLICE = 256 * 1024;

/** The text with the replacements of the guard; JSON in it stays JSON. Throws `GuardBlocked`, and `guard_failed`. */
export function guardText(guard: Guard, text: string, at: GuardedPlace, context: GuardContext): MaybePromise<string> {
  return mapMaybePromise(readInSlices(text, context.signal), (reading) => {
    if (reading.isTooDeep) refuseDepth(guard, at, context);
    return mapMaybePromise(findingsInReading(guard, reading, at, context), (findings) => {
      const edits = editsForFindings(guard, reading.view, findings, at, context);
      return edits.length === 0 ? text : reading.take(reading.view.length, reading.editsFor(edits));
    });
  });
}

function readInSlices(text: string, signal: AbortSignal): MaybePromise<Reading> {
  const reading = new Reading();
  if (text.length <= SLICE) {
    reading.read(text);
    reading.finish();
    return reading;
  }
  return (async () => {
    for (let at = 0; at < text.length; at += SLICE) {
      // Between the slices other requests have their turn.
      if (at > 0) await setImmediate();
      signal.throwIfAborted();
      reading.read(text.slice(at, at + SLICE));
    }
    reading.finish();
    return reading;
  })();
}
