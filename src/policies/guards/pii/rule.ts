/** What the rules of `pii` have in common. */

/** No value of this rule begins here, whatever follows. */
export const NONE = -1;
/** The text is too short to decide. */
export const MORE = -2;

/**
 * Looks whether a value begins at `at`: returns the index after it, `NONE` or `MORE`. An answer other than `MORE` must be
 * the same for every longer text; `isEnd` means that there is none.
 */
export type Rule = (text: string, at: number, isEnd: boolean) => number;

/** Whether it is a digit. */
export function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Whether it is one of the letters `A` to `Z`, in either case. */
export function isLetter(unit: number): boolean {
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Also the letters of European names. */
export function isWordLetter(unit: number): boolean {
  return isLetter(unit) || (unit >= 0xc0 && unit <= 0x24f && unit !== 0xd7 && unit !== 0xf7);
}

/** A letter or a digit; NaN, past either end of a text, is neither. */
export function isAlphanumeric(unit: number): boolean {
  return isDigit(unit) || isWordLetter(unit);
}
