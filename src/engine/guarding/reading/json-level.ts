/** Where a reader is in JSON that is read character by character, or that it is not in JSON. */

const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Whether JSON in a text may begin with it. */
export function isOpening(unit: number): boolean {
  return unit === OPEN_OBJECT || unit === OPEN_LIST;
}

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const SCALAR = /^(-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|true|false|null)$/;
/** A longer number is none that anything could read. */
const MAX_SCALAR = 512;
/** Lists and objects in one another; what is deeper is read as text. */
const MAX_OPEN = 10_000;

/** What may come next. */
type Expected = 'value' | 'value-or-end' | 'name' | 'name-or-end' | 'colon' | 'comma-or-end';

/** What a character is; `none` if it is not JSON. */
type CharacterKind = 'structure' | 'scalar' | 'none' | 'too-deep';

/** The state of one level: of a text, or of the decoded characters of a string in it. */
export class JsonLevel {
  /** The number of the JSON that is being read. */
  fragment = 0;
  isInString = false;
  /** An incomplete escape in the string, and where it began. */
  escape = '';
  escapeAt = 0;
  /** The number or word that is being read. */
  scalar = '';
  private open: number[] = [];
  private expected: Expected = 'value';

  /** Whether it is in no JSON. */
  get isText(): boolean {
    return this.open.length === 0 && this.expected === 'value';
  }

  /** JSON begins with the next character. */
  begin(fragment: number): void {
    this.fragment = fragment;
    this.expected = 'value-or-end';
  }

  /** What it was in was no JSON, or has ended. */
  reset(): void {
    this.open = [];
    this.expected = 'value';
    this.isInString = false;
    this.escape = '';
    this.scalar = '';
  }

  /** The string that it is in has ended. */
  endString(): void {
    this.isInString = false;
    this.expected = this.expected === 'name' || this.expected === 'name-or-end' ? 'colon' : 'comma-or-end';
  }

  /** Takes a character outside of strings. */
  read(unit: number, isDeepest: boolean): CharacterKind {
    if (this.scalar !== '') {
      if (isInScalar(unit)) return this.readScalar(unit);
      if (!SCALAR.test(this.scalar)) return 'none';
      this.scalar = '';
      this.expected = 'comma-or-end';
    }
    if (BLANKS.has(unit)) return 'structure';
    if (unit === QUOTE) return this.beginString(isDeepest);
    if (isOpening(unit)) return this.descend(unit);
    if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) return this.ascend(unit);
    if (unit === COMMA && this.expected === 'comma-or-end')
      return this.expect(this.open.at(-1) === OPEN_OBJECT ? 'name' : 'value');
    if (unit === COLON && this.expected === 'colon') return this.expect('value');
    return this.expectsValue && isInScalar(unit) ? this.readScalar(unit) : 'none';
  }

  private get expectsValue(): boolean {
    return this.expected === 'value' || this.expected === 'value-or-end';
  }

  private expect(expected: Expected): CharacterKind {
    this.expected = expected;
    return 'structure';
  }

  private readScalar(unit: number): CharacterKind {
    if (this.scalar.length >= MAX_SCALAR) return 'none';
    this.scalar += String.fromCharCode(unit);
    return 'scalar';
  }

  private beginString(isDeepest: boolean): CharacterKind {
    if (this.expected === 'colon' || this.expected === 'comma-or-end') return 'none';
    if (isDeepest) return 'too-deep';
    this.isInString = true;
    return 'structure';
  }

  private descend(unit: number): CharacterKind {
    if (!this.expectsValue) return 'none';
    if (this.open.length >= MAX_OPEN) return 'none';
    this.open.push(unit);
    return this.expect(unit === OPEN_OBJECT ? 'name-or-end' : 'value-or-end');
  }

  private ascend(unit: number): CharacterKind {
    const isList = unit === CLOSE_LIST;
    if (this.open.at(-1) !== (isList ? OPEN_LIST : OPEN_OBJECT)) return 'none';
    if (this.expected !== 'comma-or-end' && this.expected !== (isList ? 'value-or-end' : 'name-or-end')) return 'none';
    this.open.pop();
    // The end of the outermost value is the end of the JSON.
    return this.expect(this.open.length === 0 ? 'value' : 'comma-or-end');
  }
}

/** Digits, signs, and the letters of numbers and words. */
function isInScalar(unit: number): boolean {
  const lower = unit | 0x20;
  return (
    (unit >= 0x30 && unit <= 0x39) ||
    unit === 0x2b ||
    unit === 0x2d ||
    unit === 0x2e ||
    (lower >= 0x61 && lower <= 0x7a)
  );
}
