/** Keys of known providers, recognised by their first characters. */
import { isDigit, isLetter, isWordLetter, MORE, NONE, type Rule } from './rule.ts';

/** The prefix of a kind of key, and the minimum number of characters after it. */
interface KeyKind {
  readonly prefix: string;
  readonly least: number;
}

const KINDS: readonly KeyKind[] = [
  ...['sk-', 'pk-', 'xai-', 'rk_live_', 'sk_live_', 'sk_test_', 'pk_live_', 'pk_test_', 'whsec_'].map(kindOf(16)),
  ...['gsk_', 'hf_', 'ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'npm_', 'pypi-', 'dop_v1_'].map(
    kindOf(16),
  ),
  ...['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'SG.', 'ya29.', 'r8_', 'tvly-', 'pplx-'].map(kindOf(16)),
  ...['AKIA', 'ASIA'].map(kindOf(16)),
  { prefix: 'AIza', least: 30 },
];
const FIRST: ReadonlySet<number> = new Set(KINDS.map(({ prefix }) => prefix.charCodeAt(0)));
const MAX_PREFIX_LENGTH = Math.max(...KINDS.map(({ prefix }) => prefix.length));
/** The maximum length; of a longer key, only this much is found. */
const LONGEST = 1024;

function kindOf(least: number): (prefix: string) => KeyKind {
  return (prefix) => ({ prefix, least });
}

/**
 * A key: its prefix, and enough letters and digits. Both kinds are required, since a name has no digits or is shorter. The
 * rule is for one text, asked from left to right: it remembers the run it is in, so that it runs in linear time.
 */
export function keyRule(): Rule {
  const run = new KeyRun();
  return (text, at, isEnd) => {
    if (!FIRST.has(text.charCodeAt(at)) || isInWord(text.charCodeAt(at - 1))) return NONE;
    const head = text.slice(at, at + MAX_PREFIX_LENGTH);
    const kind = KINDS.find(({ prefix }) => head.startsWith(prefix));
    if (!kind) return !isEnd && at + head.length === text.length && mayBegin(head) ? MORE : NONE;
    const from = at + kind.prefix.length;
    const end = run.endFrom(text, from, at + LONGEST);
    if (end === text.length && end < at + LONGEST && !isEnd) return MORE;
    return run.isMixed(text, from, end) ? closed(text, from, end, kind.least) : NONE;
  };
}

/** What is known of the run of a key's characters that was looked at last; each character is read once. */
class KeyRun {
  private end = 0;
  private digit = 0;
  private letter = 0;

  /** The end of the run, or `most`. */
  endFrom(text: string, from: number, most: number): number {
    this.end = Math.max(this.end, from);
    while (this.end < text.length && this.end < most && isInKey(text.charCodeAt(this.end))) this.end += 1;
    return Math.min(this.end, most);
  }

  /** Whether there is a digit and a letter between both. */
  isMixed(text: string, from: number, to: number): boolean {
    this.digit = Math.max(this.digit, from);
    while (this.digit < to && !isDigit(text.charCodeAt(this.digit))) this.digit += 1;
    this.letter = Math.max(this.letter, from);
    while (this.letter < to && !isLetter(text.charCodeAt(this.letter))) this.letter += 1;
    return this.digit < to && this.letter < to;
  }
}

function mayBegin(head: string): boolean {
  return KINDS.some(({ prefix }) => prefix.startsWith(head));
}

/** The end of the key, without the full stop of a sentence. */
function closed(text: string, from: number, to: number, least: number): number {
  let end = to;
  while (end > from && !isDigit(text.charCodeAt(end - 1)) && !isLetter(text.charCodeAt(end - 1))) end -= 1;
  return end - from >= least ? end : NONE;
}

function isInWord(unit: number): boolean {
  return isDigit(unit) || isWordLetter(unit) || unit === 0x5f;
}

/** A letter, a digit, or one of `_-.` */
function isInKey(unit: number): boolean {
  return isDigit(unit) || isLetter(unit) || unit === 0x5f || unit === 0x2d || unit === 0x2e;
}
