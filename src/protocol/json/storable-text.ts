/** Any text in a form that every database keeps as it is. */

/** Separates texts that are kept as one. */
const SEPARATOR = '\u001e';
/** Half a surrogate pair, which is not UTF-8. */
const HALF_PAIR = /\p{Surrogate}/u;

/**
 * The text itself, which JSON almost always is; as a JSON string if it contains what databases refuse, change or cut
 * off. Never empty.
 */
export function storableText(text: string): string {
  const isPlain = text !== '' && !text.startsWith('"') && !text.includes('\u0000') && !text.includes(SEPARATOR);
  return isPlain && !HALF_PAIR.test(text) ? text : JSON.stringify(text);
}

/** What `storableText` was given. */
export function originalText(stored: string): string {
  // The cast: a text that begins so was written as a JSON string.
  return stored.startsWith('"') ? (JSON.parse(stored) as string) : stored;
}

/** Texts as one storable text, which is empty if there are none. */
export function joinTexts(texts: readonly string[]): string {
  return texts.map(storableText).join(SEPARATOR);
}

/** What `joinTexts` was given. */
export function splitTexts(joined: string): readonly string[] {
  return joined === '' ? [] : joined.split(SEPARATOR).map(originalText);
}
