/** A text without the escapes that stand in it, such as `\n` in source code, whose JSON or whose language nobody knows. */
import type { GuardFinding, GuardScan } from '../../../ports/guard.ts';

/** The text, and where each of its characters stands in the original. */
interface UnescapedText {
  readonly text: string;
  /** One more than the characters: the last is the end. */
  readonly places: readonly number[];
  /** Where an escape begins that is incomplete at the end; the length of the original if there is none. */
  readonly complete: number;
}

const BACKSLASH = 0x5c;
const CHARACTERS: Readonly<Record<string, string>> = {
  ...{ '"': '"', '/': '/', n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' },
};
const HEXADECIMAL = 4;
/** A longer run of backslashes is no escape that waits for its letter. */
const MAX_INCOMPLETE = 64;

/**
 * However many backslashes an escape has: each string in a string doubles them. Undefined if there is no escape. An
 * incomplete one at the end is left out unless this is the end.
 */
export function unescapeText(original: string, isEnd: boolean): UnescapedText | undefined {
  let next = original.indexOf('\\');
  if (next < 0) return undefined;
  let text = '';
  let at = 0;
  let complete = original.length;
  const places: number[] = [];
  const copy = (to: number) => {
    for (let each = at; each < to; each += 1) places.push(each);
    text += original.slice(at, to);
    at = to;
  };
  for (; next >= 0; next = original.indexOf('\\', at)) {
    let letter = next;
    while (original.charCodeAt(letter) === BACKSLASH) letter += 1;
    copy(next);
    const found = readEscape(original, letter);
    if (found === undefined) {
      if (original.length - next <= MAX_INCOMPLETE) complete = next;
      break;
    }
    if (found.character === '') copy(found.end);
    else {
      places.push(next);
      text += found.character;
      at = found.end;
    }
  }
  copy(isEnd ? original.length : complete);
  places.push(at);
  return { text, places, complete };
}

/** The character of an escape; empty if it is none, and undefined while it is incomplete. */
function readEscape(text: string, at: number): { readonly character: string; readonly end: number } | undefined {
  const letter = text.charAt(at);
  if (letter === '') return undefined;
  const character = CHARACTERS[letter];
  if (character !== undefined) return { character, end: at + 1 };
  if (letter !== 'u') return { character: '', end: at };
  const digits = text.slice(at + 1, at + 1 + HEXADECIMAL);
  if (!/^[\da-f]*$/i.test(digits)) return { character: '', end: at };
  if (digits.length < HEXADECIMAL) return undefined;
  return { character: String.fromCharCode(Number.parseInt(digits, 16)), end: at + 1 + HEXADECIMAL };
}

/** The findings where they stand in the original. */
export function findingsInOriginal(
  findings: readonly GuardFinding[],
  { places }: UnescapedText,
): readonly GuardFinding[] {
  return findings.map((each) => ({ ...each, start: places[each.start] ?? 0, end: places[each.end] ?? 0 }));
}

/** What is found in the text as it stands and without its escapes, as far as both are decided, and between escapes. */
export function mergeScans(raw: GuardScan, decoded: GuardScan, to: UnescapedText, from: number): GuardScan {
  const { places } = to;
  const all = mergeFindings(raw.findings, findingsInOriginal(decoded.findings, to), to);
  const findings = all.map((each) => (each.start < from ? { ...each, start: from } : each));
  const decided = findingsBefore(findings, Math.min(raw.settled, places[decoded.settled] ?? 0));
  return findingsBefore(decided.findings, Math.max(from, lastPlaceBefore(decided.settled, places)));
}

/** Those that end before the index; one across it moves it. */
export function findingsBefore(findings: readonly GuardFinding[], most: number): GuardScan {
  const settled = findings.find(({ start, end }) => start < most && most < end)?.start ?? most;
  return { findings: findings.filter(({ end }) => end <= settled), settled };
}

/** In order, and each place once. One that begins with the letter of an escape has the whole escape. */
export function mergeFindings(
  raw: readonly GuardFinding[],
  decoded: readonly GuardFinding[],
  { places }: UnescapedText,
): readonly GuardFinding[] {
  const all = [...raw.map((each) => ({ ...each, start: lastPlaceBefore(each.start, places) })), ...decoded];
  const found: GuardFinding[] = [];
  for (const each of all.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    const last = found.at(-1);
    if (!last || last.end <= each.start) found.push(each);
    else if (each.end > last.end) found[found.length - 1] = { ...last, end: each.end };
  }
  return found;
}

/** The last of these places that is not behind the index. */
function lastPlaceBefore(index: number, places: readonly number[]): number {
  let low = 0;
  let high = places.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((places[middle] ?? 0) <= index) low = middle;
    else high = middle;
  }
  return places[low] ?? index;
}
