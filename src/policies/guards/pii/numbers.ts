/** Numbers with a check digit or a known form: accounts, cards and telephones. */
import { isAlphanumeric, isDigit, isLetter, MORE, NONE } from './rule.ts';

const BLANK = 0x20;
const DASH = 0x2d;
const DOT = 0x2e;
const SLASH = 0x2f;
const OPEN = 0x28;
const CLOSE = 0x29;
const PLUS = 0x2b;

/** The length of each country's account numbers, from the registry of ISO 13616. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = {
  ...{ AD: 24, AE: 23, AL: 28, AT: 20, AZ: 28, BA: 20, BE: 16, BG: 22, BH: 22, BI: 27, BR: 29, BY: 28, CH: 21, CR: 22 },
  ...{ CY: 28, CZ: 24, DE: 22, DJ: 27, DK: 18, DO: 28, EE: 20, EG: 29, ES: 24, FI: 18, FK: 18, FO: 18, FR: 27, GB: 22 },
  ...{ GE: 22, GI: 23, GL: 18, GR: 27, GT: 28, HN: 28, HR: 21, HU: 28, IE: 22, IL: 23, IQ: 23, IS: 26, IT: 27, JO: 30 },
  ...{ KW: 30, KZ: 20, LB: 28, LC: 32, LI: 21, LT: 20, LU: 20, LV: 21, LY: 25, MC: 27, MD: 24, ME: 22, MK: 19, MN: 20 },
  ...{ MR: 27, MT: 31, MU: 30, NI: 28, NL: 18, NO: 15, OM: 23, PK: 24, PL: 28, PS: 29, PT: 25, QA: 29, RO: 24, RS: 22 },
  ...{ RU: 33, SA: 24, SC: 31, SD: 18, SE: 24, SI: 19, SK: 24, SM: 27, SO: 23, ST: 25, SV: 28, TL: 23, TN: 24, TR: 26 },
  ...{ UA: 29, VA: 22, VG: 24, XK: 20, YE: 30 },
};

/** An IBAN with the right length and check digits; single blanks and dashes may stand in it. */
export function ibanAt(text: string, at: number, isEnd: boolean): number {
  if (!isLetter(text.charCodeAt(at)) || isAlphanumeric(text.charCodeAt(at - 1))) return NONE;
  let compact = '';
  let length = 4;
  let next = at;
  for (; compact.length < length; next += 1) {
    if (next === text.length) return isEnd ? NONE : MORE;
    const unit = text.charCodeAt(next);
    if (isGap(unit) && compact.length > 0 && !isGap(text.charCodeAt(next - 1))) continue;
    if (!isDigit(unit) && !isLetter(unit)) return NONE;
    if (compact.length < 2 ? !isLetter(unit) : compact.length < 4 && !isDigit(unit)) return NONE;
    compact += text[next];
    if (compact.length === 2) length = IBAN_LENGTHS[compact.toUpperCase()] ?? 0;
  }
  if (length === 0 || !hasIbanCheckDigits(compact)) return NONE;
  if (next === text.length && !isEnd) return MORE;
  return isAlphanumeric(text.charCodeAt(next)) ? NONE : next;
}

function isGap(unit: number): boolean {
  return unit === BLANK || unit === DASH;
}

/** ISO 7064, mod 97-10: the first four characters count last. */
function hasIbanCheckDigits(iban: string): boolean {
  let rest = 0;
  for (let at = 0; at < iban.length; at += 1) {
    const unit = iban.charCodeAt((at + 4) % iban.length);
    const value = isDigit(unit) ? unit - 0x30 : (unit | 0x20) - 0x57;
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

const MAX_CARD_LENGTH = 19;

/** The number of a payment card of a known issuer; single blanks and dashes may stand between its digits. */
export function cardAt(text: string, at: number, isEnd: boolean): number {
  const first = text.charCodeAt(at);
  if (first < 0x32 || first > 0x36 || isAlphanumeric(text.charCodeAt(at - 1))) return NONE;
  let digits = '';
  let end = NONE;
  for (let next = at; next <= text.length; next += 1) {
    if (next === text.length && !isEnd) return MORE;
    const unit = text.charCodeAt(next);
    if (isDigit(unit)) {
      digits += text[next];
      const isUnissued = digits.length === ISSUER_DIGITS && !ISSUERS.some((issuer) => isIssuedBy(issuer, digits));
      if (digits.length > MAX_CARD_LENGTH || isUnissued) return end;
      continue;
    }
    if (isDigit(text.charCodeAt(next - 1)) && !isLetter(unit) && isCardNumber(digits)) end = next;
    if (!isGap(unit) || isGap(text.charCodeAt(next - 1))) return end;
  }
  return end;
}

/** A range of first digits, and the lengths of the numbers that begin so. */
type Issuer = readonly [from: string, to: string, lengths: readonly number[]];

const ISSUERS: readonly Issuer[] = [
  ['4', '4', [13, 16, 19]],
  ['51', '55', [16]],
  ['2221', '2720', [16]],
  ['34', '34', [15]],
  ['37', '37', [15]],
  ['300', '305', [14]],
  ['36', '36', [14]],
  ['38', '39', [14]],
  ['6011', '6011', [16, 19]],
  ['644', '659', [16, 19]],
  ['62', '62', [16, 17, 18, 19]],
  ['3528', '3589', [16]],
];

/** As many digits identify the issuer. */
const ISSUER_DIGITS = 4;
const MIN_CARD_LENGTH = Math.min(...ISSUERS.flatMap(([, , lengths]) => lengths));

/** Whether an issuer has numbers of this length with these first digits, and the last digit is the check digit of Luhn. */
function isCardNumber(digits: string): boolean {
  if (digits.length < MIN_CARD_LENGTH) return false;
  if (!ISSUERS.some((issuer) => issuer[2].includes(digits.length) && isIssuedBy(issuer, digits))) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 0x30;
    const doubled = at % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

function isIssuedBy([from, to]: Issuer, digits: string): boolean {
  const prefix = digits.slice(0, from.length);
  return prefix >= from && prefix <= to;
}

/** A number as it is written: its digits, the sizes of their groups, and where each group ends. */
interface WrittenNumber {
  readonly digits: string;
  readonly groups: readonly number[];
  readonly ends: readonly number[];
  /** The marks between the groups. */
  readonly gaps: readonly string[];
}

/** ITU E.164. */
const MAX_PHONE_LENGTH = 15;
/** The most marks between two groups, such as `) `. */
const MAX_GAP_LENGTH = 2;

/**
 * A telephone number in a form that shows it is one: with a country code after `+` or `00`, of North America, or with a
 * leading zero and blanks between its groups.
 */
export function phoneAt(text: string, at: number, isEnd: boolean): number {
  const first = text.charCodeAt(at);
  if (first !== PLUS && first !== OPEN && !isDigit(first)) return NONE;
  const before = text.charCodeAt(at - 1);
  if (isAlphanumeric(before) || before === PLUS) return NONE;
  // The digits may continue another number: its groups, or its decimals.
  const isJoined = before === DOT || (isDigit(first) && (isGap(before) || before === SLASH));
  if (isJoined && isDigit(text.charCodeAt(at - 2))) return NONE;
  const number = readWrittenNumber(text, at, isEnd);
  if (number === MORE) return MORE;
  const { digits, groups, ends, gaps } = number;
  const count = phoneGroupCount(first, digits, groups, gaps);
  const end = ends[count - 1];
  return count === 0 || end === undefined || isAlphanumeric(text.charCodeAt(end)) ? NONE : end;
}

/** How many groups belong to the number; 0 for none. */
function phoneGroupCount(first: number, digits: string, groups: readonly number[], gaps: readonly string[]): number {
  if (first === PLUS)
    return digits[0] === '0' ? 0 : groupsWithin(groups, digits[0] === '1' ? 11 : 8, digits[0] === '1' ? 11 : 15);
  if (digits.startsWith('00')) return digits[2] === '0' ? 0 : groupsWithin(groups, 11, 17);
  if (isNorthAmerican(first, digits, groups, gaps)) return digits[0] === '1' ? 4 : 3;
  return isNational(first, digits, groups, gaps) ? groupsWithin(groups, 9, 12) : 0;
}

/** As many groups as have at most so many digits together, if they have enough. */
function groupsWithin(groups: readonly number[], min: number, max: number): number {
  let sum = 0;
  let count = 0;
  for (const size of groups) {
    if (sum + size > max) break;
    sum += size;
    count += 1;
  }
  return sum >= min ? count : 0;
}

/** Such as `(212) 555-0123` and `1-212-555-0123`: the code and the exchange begin with 2 to 9. */
function isNorthAmerican(first: number, digits: string, groups: readonly number[], gaps: readonly string[]): boolean {
  const skipped = groups[0] === 1 && digits[0] === '1' ? 1 : 0;
  const [area, exchange, line] = groups.slice(skipped);
  if (area !== 3 || exchange !== 3 || line !== 4) return false;
  if ((digits[skipped] ?? '0') < '2' || (digits[skipped + 3] ?? '0') < '2') return false;
  const [one, other] = gaps.slice(skipped);
  return first === OPEN || skipped === 1 || one === other || one?.startsWith(')') === true;
}

/** Such as `030 901820` and `(020) 7946 0958`: not a date, and not a decimal. */
function isNational(first: number, digits: string, groups: readonly number[], gaps: readonly string[]): boolean {
  if (digits[0] !== '0' || digits[1] === '0' || groups.length < 2 || (groups[0] ?? 0) > 5 || (groups[0] ?? 0) < 2)
    return false;
  const [one = '', ...others] = gaps.slice(0, Math.max(1, groupsWithin(groups, 9, 12) - 1));
  const opens = first === OPEN ? one.startsWith(')') : one === ' ' || one === '/' || one === '-';
  return opens && others.every((gap) => gap === ' ');
}

function readWrittenNumber(text: string, at: number, isEnd: boolean): WrittenNumber | typeof MORE {
  const groups: number[] = [];
  const ends: number[] = [];
  const gaps: string[] = [];
  let digits = '';
  let gap = '';
  let size = 0;
  for (let next = at; ; next += 1) {
    const unit = text.charCodeAt(next);
    if (next === text.length && !isEnd) return MORE;
    if (isDigit(unit)) {
      if (size === 0 && digits !== '') gaps.push(gap);
      gap = '';
      size += 1;
      digits += text[next];
    } else if (size > 0) {
      groups.push(size);
      ends.push(next);
      size = 0;
    }
    const isBracketOrBlank = unit === OPEN || unit === CLOSE || unit === BLANK;
    const isSeparator = digits !== '' && (unit === DASH || unit === DOT || unit === SLASH);
    const isMark = next === at ? unit === PLUS || unit === OPEN : isBracketOrBlank || isSeparator;
    if (isMark && next > at) gap += text[next];
    if ((!isDigit(unit) && !isMark) || gap.length > MAX_GAP_LENGTH || digits.length > MAX_PHONE_LENGTH + 2) {
      if (size > 0) {
        // Longer than any telephone number: its last group does not belong to one.
        groups.push(MAX_PHONE_LENGTH + MAX_PHONE_LENGTH);
        ends.push(next);
      }
      return { digits, groups, ends, gaps };
    }
  }
}
