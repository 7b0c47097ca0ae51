/** E-mail addresses. */
import { isAlphanumeric, isDigit, isWordLetter, MORE, NONE, type Rule } from './rule.ts';

const AT = 0x40;
const DOT = 0x2e;
const DASH = 0x2d;
/** RFC 5321: the longest part before the `@`. */
const MAX_LOCAL_LENGTH = 64;
/** RFC 1035: the longest domain. */
const MAX_DOMAIN_LENGTH = 253;

/** Remembers the last run of characters before an `@`: the rule is tried at each character of the run. */
class LocalRun {
  private text = '';
  private start = 0;
  private end = 0;

  endFrom(text: string, at: number): number {
    if (this.text === text && at >= this.start && at < this.end) return this.end;
    let end = at;
    while (end < text.length && isLocal(text.charCodeAt(end))) end += 1;
    this.text = text;
    this.start = at;
    this.end = end;
    return end;
  }
}

/** A rule that remembers the run it is in, so that it runs in linear time. */
export function emailRule(): Rule {
  const run = new LocalRun();
  return (text, at, isEnd) => {
    if (!isLocal(text.charCodeAt(at))) return NONE;
    const end = run.endFrom(text, at);
    if (end - at > MAX_LOCAL_LENGTH) return NONE;
    if (end === text.length) return isEnd ? NONE : MORE;
    return text.charCodeAt(end) === AT ? domainEnd(text, end + 1, isEnd) : NONE;
  };
}

function isLocal(unit: number): boolean {
  // . _ % + -
  return isAlphanumeric(unit) || unit === DOT || unit === 0x5f || unit === 0x25 || unit === 0x2b || unit === DASH;
}

/** The longest name with a dot whose last label may be a top-level domain. */
function domainEnd(text: string, from: number, isEnd: boolean): number {
  const maxEnd = Math.min(text.length, from + MAX_DOMAIN_LENGTH);
  let end = NONE;
  let dots = 0;
  let letters = 0;
  let at = from;
  for (; at < maxEnd; at += 1) {
    const unit = text.charCodeAt(at);
    if (isWordLetter(unit)) letters += letters < 0 ? 0 : 1;
    else if (unit === DOT && at > from && text.charCodeAt(at - 1) !== DOT) {
      dots += 1;
      letters = 0;
    } else if (isDigit(unit) || (unit === DASH && letters !== 0)) letters = -1;
    else break;
    const isLast = at + 1 >= maxEnd || !isAlphanumeric(text.charCodeAt(at + 1));
    if (dots > 0 && letters > 1 && isLast) end = at + 1;
  }
  return at === text.length && !isEnd && at - from < MAX_DOMAIN_LENGTH ? MORE : end;
}
