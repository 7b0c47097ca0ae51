/** Makes texts that others chose safe: names for a line of the host's log, and cut texts for a URL or a model. */

const LONGEST = 64;
const UNPRINTABLE = /[^\x20-\x7e]/g;

/** At most 64 characters, all of them printable. */
export function printable(name: string): string {
  return name.slice(0, LONGEST).replace(UNPRINTABLE, '?');
}

/** The text without halves of surrogate pairs, which no encoding has: each becomes a replacement character. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
