/** Makes names that a model server chose safe for a line of the host's log. */

const LONGEST = 64;
const UNPRINTABLE = /[^\x20-\x7e]/g;

/** At most 64 characters, all of them printable. */
export function printable(name: string): string {
  return name.slice(0, LONGEST).replace(UNPRINTABLE, '?');
}
