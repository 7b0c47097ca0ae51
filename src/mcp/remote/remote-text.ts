/** Removes invisible characters from untrusted text. */

/** Controls other than line feed and tab; marks that reverse the direction of text; tags, which encode hidden text. */
const UNSEEN = /(?![\n\t])\p{Cc}|[\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

/** The text without characters that hide its content on a screen or in a log. */
export function seenText(text: string): string {
  return text.replace(UNSEEN, '');
}
