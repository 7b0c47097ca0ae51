/** Puts the arguments of one call together from the fragments of a stream, which are not always deltas. */
import { isDeepStrictEqual } from 'node:util';
import { type GrownText, grow, wholeText } from '../../grown-text.ts';
import { jsonIn, objectIn } from '../../json/json-text.ts';
import { ObjectEnd } from '../../json/object-end.ts';
import { markedIn } from '../../json/whole-numbers.ts';
import { isRecord } from '../../record.ts';

/**
 * Some servers repeat all arguments so far in each fragment, others the whole call once more at its end, as it was or as JSON of the text, or send an empty object in front; a piece that only looks like an earlier one, such as "00" after "100", is a piece. Only pieces that begin
 * three objects within each other, all alike, are taken for repetitions.
 */
export class ArgumentPieces {
  /** All arguments so far. */
  private readonly text: GrownText = { text: '', tail: '' };
  /** A fragment that repeats them, or is an object within them, or an empty one in front of them; the next one shows which. */
  private held = '';
  /** Whether each fragment repeats all arguments so far. */
  private isCumulative = false;
  /** The arguments that have not been searched for their end. */
  private unread: GrownText = { text: '', tail: '' };
  private end: ObjectEnd | undefined = undefined;

  /** Whether a fragment waits for the next one. */
  get isHolding(): boolean {
    return this.held !== '';
  }

  /** Whether there are any. */
  get isBegun(): boolean {
    return this.length > 0;
  }

  /** What the fragment adds. */
  take(fragment: string): string {
    const more = this.newArguments(fragment);
    this.add(more);
    return more;
  }

  /** What the held fragment adds, where the call has ended; if its end has told all arguments, these show what the fragment was. */
  settle(whole = ''): string {
    if (this.held === '') return '';
    const before = wholeText(this.text);
    const isRest = whole.length > before.length && whole.startsWith(before) && !this.isSameObject(whole);
    const more = isRest ? whole.slice(before.length) : this.lastPiece();
    this.held = '';
    this.add(more);
    return more;
  }

  /** What the held fragment would add if nothing more were known of the call. */
  lastPiece(): string {
    const { held } = this;
    if (held === '') return '';
    const before = wholeText(this.text);
    // At the end of the call the fragment is what makes an object of it.
    const isWholeCall = objectIn(before + held) === undefined && objectIn(held) !== undefined;
    return isWholeCall ? held.slice(before.length) : held;
  }

  /** Whether the arguments are an object to its end. Each character is read once, and only if an upstream repeats names: most never do. */
  isWholeObject(): boolean {
    if (this.length === 0) return this.held !== '';
    this.end ??= new ObjectEnd();
    this.end.take(wholeText(this.unread));
    this.unread = { text: '', tail: '' };
    return this.end.isReached();
  }

  /** Whether the arguments have begun an object that has not ended. */
  isMidObject(): boolean {
    return !this.isWholeObject() && this.end?.reading().phase === 'inside';
  }

  /** Whether the text, or the text that it is the JSON of, is the same object as the arguments so far. */
  isSameObject(text: string): boolean {
    const inner = text.startsWith('"') ? jsonIn(text) : text;
    const value = typeof inner === 'string' ? markedIn(inner) : undefined;
    return isRecord(value) && isDeepStrictEqual(markedIn(wholeText(this.text) || this.held), value);
  }

  private get length(): number {
    return this.text.text.length + this.text.tail.length;
  }

  private add(more: string): void {
    grow(this.text, more);
    grow(this.unread, more);
  }

  private newArguments(fragment: string): string {
    const { held, length } = this;
    if (fragment === '') return '';
    if (length === 0) {
      if (held !== '' && this.isSameObject(fragment)) return '';
      this.held = fragment === '{}' ? fragment : '';
      if (this.held !== '') return '';
      return OBJECT_START.test(fragment) ? fragment : held + fragment;
    }
    if (held !== '') {
      this.held = '';
      this.isCumulative = continuesText(held, '', fragment);
      return this.isCumulative ? fragment.slice(length) : held + fragment;
    }
    const isQuoted = fragment.startsWith('"{');
    if (!isQuoted && !OBJECT_START.test(fragment)) return fragment;
    const { text, tail } = this.text;
    if (!isQuoted && continuesText(text, tail, fragment)) {
      // In front of a value it may be one that begins as the whole does.
      if (this.isCumulative || !BEFORE_VALUE.test(tail === '' ? text.slice(-64) : tail)) return fragment.slice(length);
      this.held = fragment;
      return '';
    }
    const isEnded = fragment.trimEnd().endsWith(isQuoted ? '}"' : '}');
    return isEnded && this.isWholeObject() && this.isSameObject(fragment) ? '' : fragment;
  }
}

const BEFORE_VALUE = /[:[,]\s{0,64}$/;

/** The beginning of an object: the only fragments that may be held begin so. */
export const OBJECT_START = /^\s*\{/;

/** Whether the fragment begins with the text so far, and ends no more objects than it begins. */
function continuesText(text: string, tail: string, fragment: string): boolean {
  if (fragment.length < text.length + tail.length) return false;
  if (!fragment.startsWith(text) || !fragment.startsWith(tail, text.length)) return false;
  const end = new ObjectEnd();
  end.take(fragment);
  return !end.isMissed();
}
