/** Finds a text in a page: a plain search, without patterns. */
import { toWellFormed } from '../../../protocol/printable.ts';

/** Characters around each match. */
const AROUND = 300;
/** A longer text is looked for by its beginning: some take time for each of their characters at each place of a page. */
const MAX_FIND_LENGTH = 200;

/** The passages around the matches, in order, in at most this many characters. Neither case nor white space matters. */
export function passagesIn(text: string, find: string, characters: number): string {
  const maxMatches = Math.max(1, Math.floor(characters / (2 * AROUND)));
  const lower = text.toLowerCase();
  const pattern = find.trim().slice(0, MAX_FIND_LENGTH);
  // Some capital letters become two small ones; then case matters.
  const [page, wanted] = lower.length === text.length ? [lower, pattern.toLowerCase()] : [text, pattern];
  const spans: (readonly [from: number, to: number])[] = [];
  let count = 0;
  for (let at = page.indexOf(wanted); at >= 0 && count < maxMatches; at = page.indexOf(wanted, at + wanted.length)) {
    if (wanted === '') break;
    const [from, to] = [Math.max(0, at - AROUND), Math.min(text.length, at + wanted.length + AROUND)];
    const last = spans.at(-1);
    if (last && from <= last[1]) spans[spans.length - 1] = [last[0], to];
    else spans.push([from, to]);
    count += 1;
  }
  if (spans.length === 0) return `The page does not contain ${JSON.stringify(find.slice(0, AROUND))}.`;
  return spans.map(([from, to]) => toWellFormed(text.slice(from, to))).join('\n…\n');
}
