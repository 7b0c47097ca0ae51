/** A text that grows by small deltas, stored in flat pieces: V8 keeps concatenated text as a tree, which takes six times as much memory. */

/** The text without its last characters, and those characters. */
export interface GrownText {
  text: string;
  tail: string;
}

/** Characters at the end before they are flattened. */
const PIECE = 4096;
/** Searching a text makes V8 flatten it. */
const ANYTHING = /^/;

/** Appends to the text. */
export function grow(grown: GrownText, more: string): void {
  grown.tail += more;
  if (grown.tail.length < PIECE) return;
  ANYTHING.test(grown.tail);
  grown.text += grown.tail;
  grown.tail = '';
}

/** The whole text. */
export function wholeText({ text, tail }: Readonly<GrownText>): string {
  return text + tail;
}
