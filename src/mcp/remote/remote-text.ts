/** Text of strangers, without what cannot be seen. */

/** Controls other than line feed and tab; marks that reverse the direction of text; tags, which spell out hidden text. */
const UNSEEN = /(?![\n\t])\p{Cc}|[\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

/** The text without characters that hide what it says from whoever reads it on a screen or in a log. */
export function seenText(text: string): string {
  return text.replace(UNSEEN, '');
}
