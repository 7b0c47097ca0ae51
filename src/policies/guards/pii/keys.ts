/** Keys of known providers, recognised by their first characters. */
import { isAlphanumeric, isDigit, isLetter, MORE, NONE, type Rule } from './rule.ts';

/** The prefix of a kind of key, and the minimum number of characters after it. */
interface KeyKind {
  readonly prefix: string;
  readonly minLength: number;
}

const PREFIXES = [
  ...['sk-', 'pk-', 'xai-', 'rk_live_', 'sk_live_', 'sk_test_', 'pk_live_', 'pk_test_', 'whsec_'],
  ...['gsk_', 'hf_', 'ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'npm_', 'pypi-', 'dop_v1_'],
  ...['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'SG.', 'ya29.', 'r8_', 'tvly-', 'pplx-', 'AKIA', 'ASIA'],
];
const KINDS: readonly KeyKind[] = [
  ...PREFIXES.map((prefix) => ({ prefix, minLength: 16 })),
  { prefix: 'AIza', minLength: 30 },
];
const FIRST: ReadonlySet<number> = new Set(KINDS.map(({ prefix }) => prefix.charCodeAt(0)));
const MAX_PREFIX_LENGTH = Math.max(...KINDS.map(({ prefix }) => prefix.length));
/** The maximum length; of a longer key, only this much is found. */
const MAX_KEY_LENGTH = 1024;
const UNDERSCORE = 0x5f;
const DASH = 0x2d;
const DOT = 0x2e;

/**
 * A key: its prefix, and enough letters and digits. Both kinds are required, since a name has no digits or is shorter. The
 * rule is for one text, asked from left to right: it remembers the run it is in, so that it runs in linear time.
 */
export function keyRule(): Rule {
  const run = new KeyRun();
  return (text, at, isEnd) => {
    if (!FIRST.has(text.charCodeAt(at))) return NONE;
    const before = text.charCodeAt(at - 1);
    if (isAlphanumeric(before) || before === UNDERSCORE) return NONE;
    const head = text.slice(at, at + MAX_PREFIX_LENGTH);
    const kind = KINDS.find(({ prefix }) => head.startsWith(prefix));
    if (!kind) {
      const mayBegin =
        !isEnd && at + head.length === text.length && KINDS.some(({ prefix }) => prefix.startsWith(head));
      return mayBegin ? MORE : NONE;
    }
    const from = at + kind.prefix.length;
    const maxEnd = at + MAX_KEY_LENGTH;
    let end = run.endFrom(text, from, maxEnd);
    if (end === text.length && end < maxEnd && !isEnd) return MORE;
    if (!run.isMixed(text, from, end)) return NONE;
    // Without the full stop of a sentence.
    while (end > from && !isDigit(text.charCodeAt(end - 1)) && !isLetter(text.charCodeAt(end - 1))) end -= 1;
    return end - from >= kind.minLength ? end : NONE;
  };
}

/** The run of a key's characters that was looked at last; each character is read once. */
class KeyRun {
  private end = 0;
  private digit = 0;
  private letter = 0;

  /** The end of the run of letters, digits and `_-.`, or `maxEnd`. */
  endFrom(text: string, from: number, maxEnd: number): number {
    this.end = Math.max(this.end, from);
    while (this.end < text.length && this.end < maxEnd) {
      const unit = text.charCodeAt(this.end);
      if (!isDigit(unit) && !isLetter(unit) && unit !== UNDERSCORE && unit !== DASH && unit !== DOT) break;
      this.end += 1;
    }
    return Math.min(this.end, maxEnd);
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
