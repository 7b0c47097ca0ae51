/** Replacements in a text. */
import type { GuardFinding } from '../../../ports/guard.ts';

/** A part of a text, and what takes its place. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly rule: string;
}

/** The part of the text from `from` to `to` with the edits in it, which are in order. */
export function applyEdits(text: string, edits: readonly Edit[], from = 0, to = text.length): string {
  if (edits.length === 0) return text.slice(from, to);
  const pieces: string[] = [];
  let at = from;
  for (const edit of edits) {
    pieces.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  pieces.push(text.slice(at, to));
  return pieces.join('');
}

/** Throws unless these are findings in order, within the text from `from` to `to`. */
export function checkFindings(
  findings: unknown,
  from: number,
  to: number,
): asserts findings is readonly GuardFinding[] {
  if (!Array.isArray(findings)) throw new TypeError('findings must be a list');
  let last = from;
  for (const each of findings) {
    const { start, end, rule, text } = Object(each);
    const isPlaced = Number.isInteger(start) && Number.isInteger(end) && start >= last && end > start && end <= to;
    if (!isPlaced) throw new TypeError('findings must lie in the text, in order, without overlapping');
    if (typeof rule !== 'string' || (text !== undefined && typeof text !== 'string'))
      throw new TypeError('a finding must have a rule, and a text or none');
    last = end;
  }
}

/** The whole replacement as one finding: the part in which both texts differ. */
export function findDifference(before: string, after: string, rule: string): readonly GuardFinding[] {
  if (before === after) return [];
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  start = Math.min(characterStart(before, start), characterStart(after, start));
  let tail = 0;
  while (tail < most - start && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  if (characterStart(before, before.length - tail) < before.length - tail) tail -= 1;
  // A finding has at least one character, so a pure insertion includes a neighbouring one.
  const from = start === before.length - tail && start > 0 ? start - 1 : start;
  const to = from === before.length - tail ? from + 1 : before.length - tail;
  if (before === '') return [];
  return [{ start: from, end: to, rule, text: after.slice(from, after.length - (before.length - to)) }];
}

/** The index, or the one before it where a character of two units would be torn. */
export function characterStart(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  const before = text.charCodeAt(index - 1);
  const isTorn = unit >= 0xdc00 && unit <= 0xdfff && before >= 0xd800 && before <= 0xdbff;
  return isTorn ? index - 1 : index;
}
