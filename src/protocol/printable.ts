/** Makes texts that others chose safe: names for a line of the host's log, and cut texts for a URL or a model. */

const MAX_LENGTH = 64;
const UNPRINTABLE = /[^\x20-\x7e]/g;

/** At most 64 characters, all of them printable. */
export function toPrintable(name: string): string {
  return name.slice(0, MAX_LENGTH).replace(UNPRINTABLE, '?');
}

/** Whether a name, of any length, can be printed as it is. */
export function isPrintable(name: string): boolean {
  return name.search(UNPRINTABLE) < 0;
}

/**
 * At most so many characters of a text that is kept longer than it: in a string of their own, since a slice keeps the whole
 * text in memory.
 */
export function truncateText(text: string, characters: number): string {
  return text.length <= characters ? text : toWellFormed(text.slice(0, characters));
}

const MODEL_CHARACTERS = 128;

/** A model's name as it is counted and reported: it is whatever the client wrote. */
export function toReportedModel(name: string): string {
  return truncateText(name, MODEL_CHARACTERS);
}

/** The text without halves of surrogate pairs, which no encoding has: each becomes a replacement character. */
export function toWellFormed(text: string): string {
  return Buffer.from(text).toString();
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * A name or id without what makes it look like another, or like further lines of a prompt or a log: control characters,
 * ends of lines, and marks that turn the direction of the text.
 */
export function visibleText(name: string): string {
  return toWellFormed(name.replace(HIDDEN, ''));
}
