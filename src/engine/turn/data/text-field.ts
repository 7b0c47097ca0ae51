/** Reads the text of one field out of JSON that is still being written, as far as it can be decoded already. */

/** The parser's state; a value. */
export interface TextField {
  /** What was written before the field's text began. */
  readonly head: string;
  /** What cannot be decoded yet: an incomplete escape, or half a surrogate pair. */
  readonly tail: string;
  /** `other` is text that does not begin as expected. */
  readonly phase: 'head' | 'text' | 'done' | 'other';
}

/** Before the first character. */
export const FIELD_START: TextField = { head: '', tail: '', phase: 'head' };

/** Takes more of the JSON of `{"<field>": "…"}`; returns what it adds to the field's text. */
export function readField(state: TextField, field: string, written: string): readonly [TextField, string] {
  if (state.phase === 'done' || state.phase === 'other') return [state, ''];
  if (state.phase === 'text') return readFieldText(state, written);
  const head = state.head + written;
  const opening = new RegExp(`^\\s*\\{\\s*"${field}"\\s*:\\s*"`).exec(head);
  if (opening) return readFieldText({ head: '', tail: '', phase: 'text' }, head.slice(opening[0].length));
  const mayOpen = `{"${field}":"`.startsWith(head.replace(/\s/g, ''));
  // Blanks are not kept: a hostile model could write a megabyte of them, one by one.
  return [{ ...state, head: head.replace(/\s+/g, ' '), phase: mayOpen ? 'head' : 'other' }, ''];
}

function readFieldText(state: TextField, written: string): readonly [TextField, string] {
  const text = state.tail + written;
  const end = closingQuote(text);
  if (end >= 0) return [{ ...state, tail: '', phase: 'done' }, decoded(text.slice(0, end))];
  const whole = wholeLength(text);
  return [{ ...state, tail: text.slice(whole) }, decoded(text.slice(0, whole))];
}

function closingQuote(text: string): number {
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return -1;
}

/** How much of the text is certainly complete: no half escape at its end, and no half pair, escaped or not. */
function wholeLength(text: string): number {
  const half = /(\\u[dD][89abAB][0-9a-fA-F]{2}(\\(u[0-9a-fA-F]{0,3})?)?|[\ud800-\udbff])$/.exec(text);
  if (half && !isEscaped(text, half.index)) return half.index;
  const open = /\\(u[0-9a-fA-F]{0,3})?$/.exec(text);
  return open && !isEscaped(text, open.index) ? open.index : text.length;
}

/** Whether an odd number of backslashes precedes the position. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/** Decodes each escape by itself: models also write raw line breaks into JSON, and invalid escapes. */
function decoded(text: string): string {
  return text.replace(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (_, escaped: string) =>
    escaped.length === 5 ? String.fromCharCode(Number.parseInt(escaped.slice(1), 16)) : (ESCAPES[escaped] ?? escaped),
  );
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };
