/** Keys of known providers, recognised by their first characters. */
import { isDigit, isLetter, isWordLetter, MORE, NONE } from './rule.ts';

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
const LONGEST_PREFIX = Math.max(...KINDS.map(({ prefix }) => prefix.length));
/** The maximum length; of a longer key, only this much is found. */
const LONGEST = 1024;

function kindOf(least: number): (prefix: string) => KeyKind {
  return (prefix) => ({ prefix, least });
}

/** A key: its prefix, and enough letters and digits. Both kinds are required, since a name has no digits or is shorter. */
export function keyAt(text: string, at: number, isEnd: boolean): number {
  if (!FIRST.has(text.charCodeAt(at)) || isInWord(text.charCodeAt(at - 1))) return NONE;
  const head = text.slice(at, at + LONGEST_PREFIX);
  const kind = KINDS.find(({ prefix }) => head.startsWith(prefix));
  if (!kind) return !isEnd && at + head.length === text.length && mayBegin(head) ? MORE : NONE;
  const most = Math.min(text.length, at + LONGEST);
  let end = at + kind.prefix.length;
  while (end < most && isInKey(text.charCodeAt(end))) end += 1;
  if (end === text.length && end < at + LONGEST && !isEnd) return MORE;
  return closed(text, at + kind.prefix.length, end, kind.least);
}

function mayBegin(head: string): boolean {
  return KINDS.some(({ prefix }) => prefix.startsWith(head));
}

/** The end of the key, without the full stop of a sentence. */
function closed(text: string, from: number, to: number, least: number): number {
  let end = to;
  while (end > from && !isDigit(text.charCodeAt(end - 1)) && !isLetter(text.charCodeAt(end - 1))) end -= 1;
  let digits = 0;
  let letters = 0;
  for (let at = from; at < end; at += 1) {
    if (isDigit(text.charCodeAt(at))) digits += 1;
    else if (isLetter(text.charCodeAt(at))) letters += 1;
  }
  return end - from >= least && digits > 0 && letters > 0 ? end : NONE;
}

function isInWord(unit: number): boolean {
  return isDigit(unit) || isWordLetter(unit) || unit === 0x5f;
}

/** A letter, a digit, or one of `_-.` */
function isInKey(unit: number): boolean {
  return isDigit(unit) || isLetter(unit) || unit === 0x5f || unit === 0x2d || unit === 0x2e;
}
