/** A step as one line of text. */

/** Characters of a value: a model's name is whatever a client wrote. */
const MOST_CHARACTERS = 128;
/** What needs no quotes; anything else could forge a line, or colour a terminal. */
const PLAIN = /^[\w.:/@-]+$/;

/** Such as `stored requestId=req_1 ms=3`. */
export function stepLine(name: string, facts: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(facts).filter(([, value]) => value !== undefined);
  return [name, ...parts.map(([key, value]) => `${key}=${shown(value)}`)].join(' ');
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function shown(value: unknown): string {
  const text = String(value).slice(0, MOST_CHARACTERS);
  return PLAIN.test(text) ? text : JSON.stringify(text).replace(/[^ -~]/g, escaped);
}
